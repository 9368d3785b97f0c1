#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

#include "quire/comm/detail/key.h"
#include "quire/comm/store.h"
#include "quire/core/error.h"

namespace quire::comm {
namespace {

class InProcessStore final : public Store {
 public:
  void set(const std::string& key, const std::string& value) override {
    check_key(key);
    check_value(key, value);
    const std::lock_guard lock(mutex_);
    values_[key] = value;
    changed_.notify_all();
  }

  std::string get(const std::string& key, double timeout_s) override {
    check_key(key);
    std::unique_lock lock(mutex_);
    const bool found =
        changed_.wait_for(lock, std::chrono::duration<double>(timeout_s),
                          [&] { return values_.count(key) != 0; });
    if (found) return values_.at(key);
    throw SystemError(fmt::format(
        "the key {} did not come into the process's store within {:g} s", key,
        timeout_s));
  }

  std::int64_t add(const std::string& key, std::int64_t amount) override {
    check_key(key);
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(key);
    const std::int64_t before =
        found == values_.end() ? 0 : counter_of(key, found->second);
    values_[key] = std::to_string(before + amount);
    changed_.notify_all();
    return before + amount;
  }

  void erase(const std::string& key) override {
    check_key(key);
    const std::lock_guard lock(mutex_);
    values_.erase(key);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

}  // namespace

std::unique_ptr<Store> in_process_store() {
  return std::make_unique<InProcessStore>();
}

}  // namespace quire::comm
