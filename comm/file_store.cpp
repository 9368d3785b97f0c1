#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>

#include "quire/comm/detail/key.h"
#include "quire/comm/store.h"
#include "quire/core/descriptor.h"
#include "quire/core/error.h"
#include "quire/core/file_io.h"

namespace quire::comm {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void throw_system(std::string_view what, const std::string& path) {
  throw SystemError(
      fmt::format("cannot {} {}: {}", what, path, reason_of(errno)));
}

std::chrono::nanoseconds nanoseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
}

// Polls, ever more slowly, until try_once gives something or the time is over.
template <class TryOnce>
auto poll_until(Clock::time_point deadline, TryOnce&& try_once) {
  auto pause = std::chrono::milliseconds(1);
  for (;;) {
    auto result = try_once();
    if (result || Clock::now() >= deadline) return result;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds(20));
  }
}

void make_folder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    throw_system("make the folder", folder);
  }
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0) throw_system("read", folder);
  const bool own = S_ISDIR(status.st_mode) && status.st_uid == geteuid();
  if (own && (status.st_mode & 022) == 0) return;
  throw SystemError(fmt::format(
      "{} is not a folder that only this user can write; remove it or choose "
      "another (TMPDIR)",
      folder));
}

class FileStore final : public Store {
 public:
  explicit FileStore(std::string folder) : folder_(std::move(folder)) {
    make_folder(folder_);
  }

  void set(const std::string& key, const std::string& value) override {
    check_key(key);
    check_value(key, value);
    const std::string temporary = fmt::format(
        "{}/.{}.{}.{}", folder_, getpid(), static_cast<void*>(this), next_++);
    write_file(temporary, value);
    if (rename(temporary.c_str(), path(key).c_str()) != 0) {
      throw_system("rename to", path(key));
    }
  }

  std::string get(const std::string& key, double timeout_s) override {
    check_key(key);
    const auto value = poll_until(Clock::now() + nanoseconds(timeout_s),
                                  [&] { return read_file(path(key)); });
    if (value) return *value;
    throw SystemError(
        fmt::format("the key {} did not come into the store {} within {:g} s",
                    key, folder_, timeout_s));
  }

  std::int64_t add(const std::string& key, std::int64_t amount) override {
    check_key(key);
    const Descriptor held = lock();
    const auto before = read_file(path(key));
    const std::int64_t sum = (before ? counter_of(key, *before) : 0) + amount;
    set(key, std::to_string(sum));
    return sum;
  }

  void erase(const std::string& key) override {
    check_key(key);
    if (unlink(path(key).c_str()) != 0 && errno != ENOENT) {
      throw_system("remove", path(key));
    }
  }

 private:
  std::string path(const std::string& key) const {
    return folder_ + "/key-" + key;
  }

  void write_file(const std::string& file, const std::string& value) const {
    const Descriptor to(
        open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!to.is_open()) throw_system("write", file);
    const ssize_t written = write(to.number(), value.data(), value.size());
    if (written == static_cast<ssize_t>(value.size())) return;
    const int reason = written < 0 ? errno : ENOSPC;
    unlink(file.c_str());
    errno = reason;
    throw_system("write", file);
  }

  // None if there is no such file.
  std::optional<std::string> read_file(const std::string& file) const {
    const Descriptor from(open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!from.is_open()) {
      if (errno == ENOENT) return std::nullopt;
      throw_system("read", file);
    }
    std::string value((64 << 10) + 1, 0);
    const ssize_t got = read(from.number(), value.data(), value.size());
    if (got < 0) throw_system("read", file);
    value.resize(static_cast<std::size_t>(got));
    check_value(file, value);
    return value;
  }

  // Held until the descriptor is closed, by the kernel if the process dies.
  Descriptor lock() const {
    constexpr auto kLimit = std::chrono::seconds(10);
    const std::string file = folder_ + "/.lock";
    Descriptor held(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!held.is_open()) throw_system("open", file);
    const bool locked = poll_until(Clock::now() + kLimit, [&] {
      return flock(held.number(), LOCK_EX | LOCK_NB) == 0;
    });
    if (!locked) throw_system("lock", file);
    return held;
  }

  std::string folder_;
  std::atomic<std::uint64_t> next_ = 0;
};

}  // namespace

std::unique_ptr<Store> file_store(const std::filesystem::path& folder) {
  return std::make_unique<FileStore>(folder.string());
}

}  // namespace quire::comm
