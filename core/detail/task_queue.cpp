#include "quire/core/detail/task_queue.h"

#include <utility>

#include "quire/core/detail/flush_to_zero.h"

namespace quire {

void TaskQueue::submit(Task task) {
  {
    const std::lock_guard lock(mutex_);
    ++submitted_;
    if (failure_ != nullptr) return;
    tasks_.push_back(std::move(task));
  }
  offered_.notify_one();
}

std::uint64_t TaskQueue::position() const {
  const std::lock_guard lock(mutex_);
  return submitted_;
}

bool TaskQueue::passed(std::uint64_t position) const {
  const std::lock_guard lock(mutex_);
  return settled(position);
}

void TaskQueue::wait(std::uint64_t position) {
  Lock lock(mutex_);
  while (!settled(position)) {
    if (can_take()) {
      run_front(lock);
    } else {
      finished_one_.wait(lock);
    }
  }
  const std::exception_ptr failure = failure_;
  const bool leaves_work = can_take() || closed_;
  lock.unlock();
  if (leaves_work) offered_.notify_one();
  if (failure != nullptr) std::rethrow_exception(failure);
}

void TaskQueue::run() {
  Lock lock(mutex_);
  for (;;) {
    offered_.wait(lock, [this] {
      return can_take() || (closed_ && !busy_ && tasks_.empty());
    });
    if (!can_take()) return;
    run_front(lock);
  }
}

void TaskQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  offered_.notify_one();
}

void TaskQueue::run_front(Lock& lock) {
  Task task = std::move(tasks_.front());
  tasks_.pop_front();
  busy_ = true;
  lock.unlock();
  std::exception_ptr failure;
  try {
    flush_to_zero();
    task();
  } catch (...) {
    failure = std::current_exception();
  }
  task = nullptr;  // what it held dies before anybody sees that it has run
  lock.lock();
  busy_ = false;
  if (failure == nullptr) {
    ++finished_;
  } else {
    fail(std::move(failure), lock);
  }
  lock.unlock();  // who is woken finds it free
  finished_one_.notify_all();
  lock.lock();
}

void TaskQueue::fail(std::exception_ptr failure, Lock& lock) {
  failure_ = std::move(failure);
  std::deque<Task> dropped;
  dropped.swap(tasks_);
  lock.unlock();
  dropped.clear();  // outside the lock: what tasks hold may be anything
  lock.lock();
}

}  // namespace quire
