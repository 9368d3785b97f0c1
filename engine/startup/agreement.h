// Ranks that would not do the same are refused before they start.
#pragma once

#include "quire/comm/communicator.h"
#include "quire/engine/plan.h"
#include "quire/nn/model.h"
#include "quire/optim/optimizer.h"

namespace quire::engine {

// What decides the bits of a run and the order of its collectives.
struct Agreement {
  const Plan* plan;
  const Structure* structure;
  const nn::Model* model;
  const optim::Optimizer* optimizer;
};

// Collective. Compares what all ranks must agree on; UsageError, the same on
// all ranks, naming the first line that differs and both ranks. Returns
// `communicator`.
comm::Communicator& agreed(const Agreement& agreement,
                           comm::Communicator& communicator, Stream& stream);

}  // namespace quire::engine
