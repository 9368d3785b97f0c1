#include "quire/core/stream.h"

#include <pthread.h>

#include <utility>

#include "quire/core/detail/flush_to_zero.h"
#include "quire/core/detail/task_queue.h"

namespace quire {
namespace {

void name_this_thread(const std::string& name) {
  constexpr std::size_t kSystemLimit = 15;
  pthread_setname_np(pthread_self(), name.substr(0, kSystemLimit).c_str());
}

}  // namespace

bool Event::passed() const {
  return queue_ == nullptr || queue_->passed(position_);
}

void Event::wait() const {
  if (queue_ != nullptr) queue_->wait(position_);
}

Stream::Stream(Kind kind, std::string name, ThreadPool& pool,
               Allocator& scratch)
    : kind_(kind), name_(std::move(name)), pool_(&pool), scratch_(&scratch) {
  if (is_inline()) return;
  queue_ = std::make_shared<TaskQueue>();
  worker_ = std::thread([queue = queue_, name = name_] {
    name_this_thread(name);
    queue->run();
  });
}

Stream::~Stream() {
  if (is_inline()) return;
  queue_->close();
  worker_.join();
}

void Stream::submit(std::function<void()> fn) {
  if (!is_inline()) return queue_->submit(std::move(fn));
  flush_to_zero();
  fn();
}

Event Stream::record() {
  Event event;
  if (is_inline()) return event;
  event.queue_ = queue_;
  event.position_ = queue_->position();
  return event;
}

void Stream::wait(const Event& event) {
  if (is_inline()) return event.wait();
  if (event.queue_ == nullptr || event.queue_ == queue_)
    return;  // nothing to wait for, or already in order
  submit([event] { event.wait(); });
}

void Stream::synchronize() { record().wait(); }

}  // namespace quire
