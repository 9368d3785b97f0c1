// The queue of a background stream. Tasks run in order, one at a time, in
// whichever thread takes them: the worker in run(), or a thread in wait() that
// would otherwise sleep. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>

namespace quire {

class TaskQueue {
 public:
  using Task = std::function<void()>;

  // Dropped once a task has thrown.
  void submit(Task task);
  // The number of tasks submitted: the position after the last.
  std::uint64_t position() const;
  bool passed(std::uint64_t position) const;
  // Returns when the first `position` tasks have run; rethrows what a task
  // threw.
  void wait(std::uint64_t position);

  // The worker's loop: returns after close(), when nothing is left to run.
  void run();
  void close();

 private:
  using Lock = std::unique_lock<std::mutex>;
  bool can_take() const { return !busy_ && !tasks_.empty(); }
  bool settled(std::uint64_t position) const {
    return finished_ >= position || failure_ != nullptr;
  }
  void run_front(Lock& lock);
  void fail(std::exception_ptr failure, Lock& lock);

  mutable std::mutex mutex_;
  // To the worker: there may be a task to take, or an end. To threads in
  // wait(): another task has run.
  std::condition_variable offered_, finished_one_;
  std::deque<Task> tasks_;
  bool busy_ = false;    // a thread is running a task
  bool closed_ = false;  // nothing more will be submitted
  std::uint64_t submitted_ = 0;
  std::uint64_t finished_ = 0;
  std::exception_ptr failure_;
};

}  // namespace quire
