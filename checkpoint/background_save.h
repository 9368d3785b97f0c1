// Saves while the rank goes on: the state is copied into memory that stands
// ready, and a thread of its own writes the copy.
//
//   (start finished* wait)*
//
// The ranks' threads meet on a communicator of their own, so that the rank's
// collectives and theirs do not wait for one another.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "quire/checkpoint/save_request.h"
#include "quire/comm/communicator.h"
#include "quire/core/allocator.h"
#include "quire/core/thread_pool.h"

namespace quire::checkpoint {

// Used by one thread.
class BackgroundSave {
 public:
  struct Setup {
    std::span<const Part> parts;       // what every save of this rank gives
    comm::Communicator* communicator;  // split; outlives this
    Allocator* allocator;              // of the copy, Category::kSnapshot
  };
  // Collective.
  explicit BackgroundSave(const Setup& setup);
  // Waits for a save that is under way; what became of it is lost.
  ~BackgroundSave();
  BackgroundSave(const BackgroundSave&) = delete;
  BackgroundSave& operator=(const BackgroundSave&) = delete;

  // Collective, like save(). Copies request.parts on the pool's threads and
  // returns; they may change from then on. The request's observers are called
  // by the other thread. REQUIRES: !busy(); what the stream or the streams of
  // the rank were to write into the parts is written.
  void start(std::string folder, SaveRequest request, ThreadPool& pool);

  // Between start and wait.
  bool busy() const;
  // What became of it is known on this rank: wait() will not block.
  bool finished() const;

  struct Outcome {
    std::uint64_t fingerprint;
    double seconds;  // from start until it was published
  };
  // Blocks until the save has ended, and throws what it threw: on every rank if
  // on any, as save() does. It ends within the communicator's time-out of a
  // peer that does not. REQUIRES: busy().
  Outcome wait();
  // Blocks at most so long; true if it has ended.
  bool wait_for(double seconds) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quire::checkpoint
