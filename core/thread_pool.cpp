#include "quire/core/thread_pool.h"

#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "quire/core/cores.h"
#include "quire/core/detail/flush_to_zero.h"
#include "quire/core/error.h"

#if defined(__SSE__)
#include <immintrin.h>
#endif

namespace quire {
namespace {

// Some microseconds: as long as waking a thread takes.
constexpr int kSpins = 200;
constexpr std::uint32_t kOpen = 1u << 31;

void pause() {
#if defined(__SSE__)
  _mm_pause();
#endif
}

// Blocks while the value is `old`.
void wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t old,
                int spins) {
  for (int i = 0; i < spins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

// One job at a time. The caller writes the job, opens the gate, rings, and
// takes panels like everybody else; then it closes the gate and waits until
// nobody is inside. A worker that wakes late finds the gate closed (or a later
// job behind it), so a job never waits for a worker that has not begun.
struct ThreadPool::State {
  struct Job {
    Body body = nullptr;
    void* fn = nullptr;
    std::int64_t panels = 0;
  };

  explicit State(int threads) : spins(threads <= usable_cores() ? kSpins : 0) {}

  void start(int threads);
  void stop();
  void serve(int worker);
  bool enter();
  void leave();
  void take_panels(int worker);
  void keep_exception(std::int64_t panel);
  void ring(std::int64_t wanted);
  void close();
  void rethrow();

  const int spins;
  std::vector<std::thread> workers;
  Job job;
  std::mutex failure_mutex;
  std::exception_ptr failure;
  std::int64_t failed_panel = 0;
  std::atomic<bool> stopping{false};
  alignas(64) std::atomic<std::uint32_t> bell{0};  // jobs so far
  alignas(64) std::atomic<std::uint32_t> gate{
      0};  // kOpen or not, plus the workers inside
  alignas(64) std::atomic<std::int64_t> next{0};
};

void ThreadPool::State::start(int threads) {
  workers.reserve(static_cast<std::size_t>(threads - 1));
  try {
    for (int worker = 1; worker < threads; ++worker)
      workers.emplace_back([this, worker] { serve(worker); });
  } catch (...) {
    stop();
    throw;
  }
}

void ThreadPool::State::stop() {
  stopping.store(true);
  bell.fetch_add(1);
  bell.notify_all();
  for (std::thread& worker : workers) worker.join();
}

void ThreadPool::State::serve(int worker) {
  flush_to_zero();
  std::uint32_t heard = 0;
  for (;;) {
    wait_while(bell, heard, spins);
    heard = bell.load(std::memory_order_acquire);
    if (stopping.load(std::memory_order_acquire)) return;
    if (!enter()) continue;
    take_panels(worker);
    leave();
  }
}

bool ThreadPool::State::enter() {
  std::uint32_t seen = gate.load(std::memory_order_relaxed);
  while (seen & kOpen) {
    if (gate.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire,
                                   std::memory_order_relaxed))
      return true;
  }
  return false;
}

void ThreadPool::State::leave() {
  if (gate.fetch_sub(1, std::memory_order_acq_rel) == 1) gate.notify_one();
}

void ThreadPool::State::take_panels(int worker) {
  for (;;) {
    const std::int64_t panel = next.fetch_add(1, std::memory_order_relaxed);
    if (panel >= job.panels) return;
    try {
      job.body(job.fn, panel, worker);
    } catch (...) {
      keep_exception(panel);
    }
  }
}

// Panels are taken in order, so every panel below a failing one runs: the
// lowest failure is the same for any number of threads.
void ThreadPool::State::keep_exception(std::int64_t panel) {
  next.store(job.panels, std::memory_order_relaxed);
  const std::lock_guard lock(failure_mutex);
  if (failure != nullptr && failed_panel < panel) return;
  failure = std::current_exception();
  failed_panel = panel;
}

void ThreadPool::State::ring(std::int64_t wanted) {
  gate.store(kOpen, std::memory_order_release);
  bell.fetch_add(1, std::memory_order_release);
  if (wanted >= static_cast<std::int64_t>(workers.size())) {
    bell.notify_all();
  } else {
    for (std::int64_t i = 0; i < wanted; ++i) bell.notify_one();
  }
}

void ThreadPool::State::close() {
  std::uint32_t inside =
      gate.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  while (inside != 0) {
    wait_while(gate, inside, spins);
    inside = gate.load(std::memory_order_acquire);
  }
}

void ThreadPool::State::rethrow() {
  if (failure == nullptr) return;
  std::exception_ptr first;
  std::swap(first, failure);
  std::rethrow_exception(std::move(first));
}

ThreadPool::ThreadPool(int threads) {
  if (threads < 1)
    throw UsageError(
        fmt::format("got a pool of {} threads; expected at least 1", threads));
  state_ = std::make_unique<State>(threads);
  state_->start(threads);
}

ThreadPool::~ThreadPool() { state_->stop(); }

int ThreadPool::threads() const {
  return static_cast<int>(state_->workers.size()) + 1;
}

void ThreadPool::run(std::int64_t panels, Body body, void* fn) {
  if (panels <= 0) return;
  flush_to_zero();
  if (panels == 1 || state_->workers.empty()) {
    for (std::int64_t panel = 0; panel < panels; ++panel) body(fn, panel, 0);
    return;
  }
  state_->job = {body, fn, panels};
  state_->next.store(0, std::memory_order_relaxed);
  state_->ring(panels - 1);
  state_->take_panels(0);
  state_->close();
  state_->rethrow();
}

}  // namespace quire
