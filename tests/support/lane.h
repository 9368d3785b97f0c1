// One lane of a model, forwards and backwards, as an engine on one rank runs
// it: a tape for every position, what lies between them as leaves.
#pragma once

#include <cstdint>

#include "quire/autograd/tape.h"
#include "quire/core/batch.h"
#include "quire/nn/loss.h"
#include "quire/nn/model.h"

namespace quire::testing {

struct Lane {
  const nn::Model& model;
  const nn::Loss& loss;
  const Batch& batch;
  autograd::Tape::Context context;  // its parameters take the gradients
};
struct LaneResult {
  Tensor output;            // of the last position, its only value
  Tensor sum;               // the loss's sum
  std::int64_t weight = 0;  // what it counts
};
// Every backward is seeded with 1 / weight.
LaneResult run_lane(const Lane& lane);

}  // namespace quire::testing
