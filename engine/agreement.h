// Ranks that would not do the same are refused before they start.
#pragma once

#include "quire/comm/communicator.h"
#include "quire/engine/plan.h"

namespace quire::engine {

// Collective. Compares what all ranks must agree on; UsageError, the same on
// all ranks, naming the first line that differs and both ranks. Returns
// `communicator`.
comm::Communicator& agreed(const Plan& plan, const Structure& structure,
                           comm::Communicator& communicator, Stream& stream);

}  // namespace quire::engine
