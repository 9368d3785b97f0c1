// Loads the batches of one request ahead, in a thread of its own.
//
//   ask -> asked -> loading -> ready -> take of an equal request
//
// At most one request is kept: another ask, or a take of any other request,
// drops it, so that what is taken was loaded for exactly what is wanted.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "quire/core/batch.h"

namespace quire::data {

struct LaneRequest {
  std::int64_t step = 0;
  std::vector<int> lanes;

  friend bool operator==(const LaneRequest&, const LaneRequest&) = default;
};

// ask and take are called by one thread.
class Prefetcher {
 public:
  using Load = std::function<std::vector<Batch>(const LaneRequest&)>;
  // `load` is called by the thread, and not after the destructor, which waits
  // for a load in progress.
  explicit Prefetcher(Load load);
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  void ask(LaneRequest request);
  // What `load` gave for an equal request, waiting while it is being loaded;
  // rethrows what it threw. Nothing if no equal request was asked for, or its
  // load has not begun: the caller is the faster one then.
  std::optional<std::vector<Batch>> take(const LaneRequest& request);

 private:
  enum class Phase : std::uint8_t { kAsked, kLoading, kReady };
  struct Slot {
    LaneRequest request;
    Phase phase = Phase::kAsked;
    std::vector<Batch> batches = {};
    std::exception_ptr failure = {};
  };

  void run();
  void load(Slot& slot, std::unique_lock<std::mutex>& lock);

  Load load_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Slot> slot_;  // null: nothing is asked for
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace quire::data
