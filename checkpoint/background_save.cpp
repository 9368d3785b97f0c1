#include "quire/checkpoint/background_save.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "quire/checkpoint/detail/own_place.h"
#include "quire/checkpoint/save.h"
#include "quire/checkpoint/snapshot.h"
#include "quire/core/error.h"

namespace quire::checkpoint {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct BackgroundSave::State {
  explicit State(const Setup& setup)
      : snapshot(setup.parts, *setup.allocator),
        communicator(setup.communicator->split("snapshot")) {}

  // The thread's.
  void run(const std::string& folder, const SaveRequest& request) {
    std::exception_ptr failure;
    std::uint64_t fingerprint = 0;
    try {
      fingerprint = save(folder, request, communicator, stream);
    } catch (...) {
      failure = std::current_exception();
    }
    end(fingerprint, failure);
  }
  void end(std::uint64_t fingerprint, std::exception_ptr failure) {
    const Seconds since = Clock::now() - started;
    const std::lock_guard lock(mutex);
    outcome = {.fingerprint = fingerprint, .seconds = since.count()};
    error = std::move(failure);
    ended = true;
    changed.notify_all();
  }

  Snapshot snapshot;
  OwnPlace communicator;
  // What the thread works with: nothing that the rank is measured by.
  ThreadPool pool{1};
  Allocator scratch{{.owner = "save"}};
  Stream stream{Stream::Kind::kInline, "save", pool, scratch};
  std::thread thread;
  Clock::time_point started;

  mutable std::mutex mutex;  // of what follows
  mutable std::condition_variable changed;
  bool ended = false;
  Outcome outcome{};
  std::exception_ptr error;
};

BackgroundSave::BackgroundSave(const Setup& setup)
    : state_(std::make_unique<State>(setup)) {}

BackgroundSave::~BackgroundSave() {
  if (busy()) state_->thread.join();
}

void BackgroundSave::start(std::string folder, SaveRequest request,
                           ThreadPool& pool) {
  if (busy())
    throw UsageError(
        "a background save was started while another is under way; wait for "
        "it first");
  State& state = *state_;
  state.started = Clock::now();
  request.parts = state.snapshot.take(request.parts, pool);
  state.ended = false;
  state.thread = std::thread(
      [&state, folder = std::move(folder), request = std::move(request)] {
        state.run(folder, request);
      });
}

bool BackgroundSave::busy() const { return state_->thread.joinable(); }

bool BackgroundSave::finished() const { return busy() && wait_for(0.0); }

bool BackgroundSave::wait_for(double seconds) const {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, Seconds(seconds),
                                  [&] { return state_->ended; });
}

BackgroundSave::Outcome BackgroundSave::wait() {
  if (!busy())
    throw UsageError("no background save is under way; start one first");
  state_->thread.join();
  if (state_->error) std::rethrow_exception(std::exchange(state_->error, {}));
  return state_->outcome;
}

}  // namespace quire::checkpoint
