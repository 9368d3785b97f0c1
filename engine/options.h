// What decides how a model is trained. Everything but the options that name
// results (seed, lanes, precision, clipping, groups, schedule) changes time and
// memory and not one bit of the parameters.
#pragma once

#include <cstdint>
#include <optional>

#include "quire/core/dtype.h"
#include "quire/optim/param_groups.h"
#include "quire/optim/schedule.h"

namespace quire::engine {

// What is kept whole on every rank: kParameters nothing; kGradients the
// parameters; kOptimizer also the rank's own gradient nodes; kNone also
// optimizer states and summed gradients. Named after what is sharded (ZeRO
// stages 3 to 0).
enum class Stage : std::uint8_t {
  kNone = 0,
  kOptimizer = 1,
  kGradients = 2,
  kParameters = 3
};

// True for stages 2 and 3: gradients go to their owners after every wave, not
// once a step.
constexpr bool reduces_every_wave(Stage stage) {
  return stage >= Stage::kGradients;
}

enum class Recompute : std::uint8_t {
  kNone,   // what a backward reads is kept from the forward
  kLayer,  // only what enters a layer is kept, and its forward runs again
};

struct Precision {
  // Of activations and gathered values: fp32 or bf16, which keeps fp32 masters.
  DType compute = DType::kF32;
  // What a lane's gradient is rounded to, once: fp32 or bf16.
  DType wire = DType::kF32;
  Recompute recompute = Recompute::kNone;
};

struct Options {
  std::uint64_t seed = 1;
  int lanes = 1;  // of a step; see docs/numerics.md
  int wave = 1;   // lanes per rank and wave, at most
  Stage stage = Stage::kParameters;
  // Exchanges beside the segment that runs: gathers of as many segments to
  // come, of which a reduce in flight takes the place of one. 0: none, which
  // needs the least memory, and where ranks share memory costs no time.
  int prefetch = 0;
  Precision precision = {};
  std::optional<double> clip_norm = {};  // global; none: no clipping
  optim::GroupOptions groups = {};
  optim::Schedule schedule = {};
};

// Throws UsageError naming the option, its value and its range.
void check(const Options& options);

}  // namespace quire::engine
