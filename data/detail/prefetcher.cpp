#include "quire/data/detail/prefetcher.h"

#include <utility>

namespace quire::data {

Prefetcher::Prefetcher(Load load)
    : load_(std::move(load)), thread_([this] { run(); }) {}

Prefetcher::~Prefetcher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Prefetcher::ask(LaneRequest request) {
  {
    const std::lock_guard lock(mutex_);
    slot_ = std::make_shared<Slot>(Slot{.request = std::move(request)});
  }
  changed_.notify_all();
}

std::optional<std::vector<Batch>> Prefetcher::take(const LaneRequest& request) {
  std::unique_lock lock(mutex_);
  const auto slot = std::exchange(slot_, nullptr);
  if (slot == nullptr || slot->request != request ||
      slot->phase == Phase::kAsked)
    return std::nullopt;
  changed_.wait(lock, [&] { return slot->phase == Phase::kReady; });
  if (slot->failure != nullptr) std::rethrow_exception(slot->failure);
  return std::move(slot->batches);
}

void Prefetcher::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] {
      return stopping_ || (slot_ != nullptr && slot_->phase == Phase::kAsked);
    });
    if (stopping_) return;
    const auto slot = slot_;  // alive even if dropped meanwhile
    load(*slot, lock);
  }
}

void Prefetcher::load(Slot& slot, std::unique_lock<std::mutex>& lock) {
  slot.phase = Phase::kLoading;
  lock.unlock();
  std::vector<Batch> batches;
  std::exception_ptr failure;
  try {
    batches = load_(slot.request);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  slot.batches = std::move(batches);
  slot.failure = failure;
  slot.phase = Phase::kReady;
  changed_.notify_all();
}

}  // namespace quire::data
