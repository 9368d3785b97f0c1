// Runs a channel's calls in the order in which they were made, whatever streams
// they were queued on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace quire::comm::local {

class Turns {
 public:
  // False if the turn has not come within `limit`, or never will because an
  // earlier one failed.
  bool wait(std::uint64_t turn, std::chrono::nanoseconds limit) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [&] { return failed_ || next_ == turn; });
    return !failed_ && next_ == turn;
  }
  bool failed() const {
    const std::lock_guard lock(mutex_);
    return failed_;
  }
  void pass() {
    {
      const std::lock_guard lock(mutex_);
      ++next_;
    }
    changed_.notify_all();
  }
  void fail() {
    {
      const std::lock_guard lock(mutex_);
      failed_ = true;
    }
    changed_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ = 0;
  bool failed_ = false;
};

}  // namespace quire::comm::local
