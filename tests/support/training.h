// Small trainings for the engine's tests: a model on random tokens over any
// world, and what it ends with.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quire/comm/record.h"
#include "quire/comm/run.h"
#include "quire/core/allocator.h"
#include "quire/engine/engine.h"
#include "quire/models/gpt2.h"

namespace quire::test {

struct Training {
  models::Gpt2Options model = {.layers = 3,
                               .width = 36,
                               .heads = 3,
                               .context = 20,
                               .vocab = 67,
                               .dropout = 0.1f};
  std::int64_t samples = 2;  // of a lane
  std::int64_t sequence = 17;
  int first_step = 0;  // of a run that goes on
  int steps = 3;       // of the whole run, at most 64
  engine::Options options = {};
  int ranks = 1;
  int threads = 1;
  bool processes = false;
  bool mapped = true;
  bool poison = false;  // freed, new and released memory is NaN
  std::optional<std::uint64_t> delays = {};  // seed of late collectives
  // On every rank, before the first step and after the last: load and save.
  using Hook = std::function<void(engine::Engine&, comm::Communicator&)>;
  Hook begin = {};
  Hook end = {};
};

// What rank 0 saw, with totals over all ranks.
struct Outcome {
  std::uint64_t state =
      0;  // hash of every element of every kind, the same however it is sharded
  std::vector<double> losses;
  std::vector<double> norms;
  std::vector<std::int64_t> peaks;            // of every rank, measured
  std::vector<std::int64_t> predicted_peaks;  // by the dry run
  comm::Traffic measured, predicted;          // sums over ranks
};

// The options of the tests: clipping on, weight decay, odd sizes.
engine::Options small_options(int lanes);
Outcome train(const Training& training);
// Lane `lane` of step `step`: tokens, targets (some ignored).
Batch lane_batch(const Training& training, std::int64_t step, int lane);

}  // namespace quire::test
