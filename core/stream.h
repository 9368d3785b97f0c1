// A stream is an ordered queue of work with the threads and the scratch memory
// that the work uses. On the CPU there are two kinds: inline (work runs in the
// caller, the compute stream) and background (a worker thread runs it in order,
// the communication streams). Code that queues work reads the same for both.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "quire/core/allocator.h"
#include "quire/core/thread_pool.h"

namespace quire {

class TaskQueue;  // private to this room

// A point in a stream's queue. Copyable; a default one has always passed, as
// have all of an inline stream. Keeps its stream's state alive. Any thread may
// use it.
class Event {
 public:
  Event() = default;
  // True once wait() would not block.
  bool passed() const;
  // Blocks until passed, running queued tasks in the worker's place while the
  // worker has not taken them. Rethrows the exception that stopped the stream,
  // if one did.
  void wait() const;

 private:
  friend class Stream;
  std::shared_ptr<TaskQueue> queue_;  // null: always passed
  std::uint64_t position_ = 0;
};

// submit, record, wait and synchronize are called by one thread at a time (the
// rank's).
class Stream {
 public:
  enum class Kind { kInline, kBackground };
  // `pool` and `scratch` are borrowed and outlive the stream. Flush-to-zero is
  // set in every thread that runs a task.
  Stream(Kind kind, std::string name, ThreadPool& pool, Allocator& scratch);
  // Finishes or, after an exception, drops what is queued.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Queues fn after all that was queued before. Once a task has thrown, later
  // tasks are dropped and the exception is rethrown by every wait. Inline: runs
  // fn here and now; what it throws reaches the caller and stops nothing.
  void submit(std::function<void()> fn);
  // The point after all that has been submitted.
  Event record();
  // Later work of this stream runs after `event` has passed. Inline: blocks the
  // caller.
  void wait(const Event& event);
  // Blocks until all has run; rethrows as Event::wait.
  void synchronize();

  ThreadPool& pool() const { return *pool_; }
  Allocator& scratch() const { return *scratch_; }
  const std::string& name() const { return name_; }
  bool is_inline() const { return kind_ == Kind::kInline; }

 private:
  Kind kind_;
  std::string name_;
  ThreadPool* pool_;
  Allocator* scratch_;
  std::shared_ptr<TaskQueue> queue_;  // null: inline
  std::thread worker_;
};

}  // namespace quire
