// The bits of a machine: what every kind of kernel that a run will use gives on
// fixed input. Ranks that compute other bits are refused before step 1.
#pragma once

#include <cstdint>
#include <string>

#include "quire/comm/communicator.h"
#include "quire/core/batch.h"
#include "quire/engine/startup/segment_trial.h"
#include "quire/optim/optimizer.h"

namespace quire::engine {

// One line "LAYER, OPERATION: HASH" for every result of one lane, segment by
// segment, forwards and backwards, and of the update. Types and shapes are
// `lane`'s; numbers are a fixed function of name and element, integers zero.
// Segments that do the same (layer types, shapes, operations, memory) are run
// once. Holds one segment at a time: its parameters, their gradients and one
// lane's activations. On the meta device the hashes are zero.
std::string hash_kernels(const SegmentSetup& setup,
                         const optim::Optimizer& optimizer, const Batch& lane);

// Collective. The hash of `lines`; UsageError, the same on all ranks, with the
// first line that differs and both ranks.
std::uint64_t agreed_kernels(const std::string& lines,
                             comm::Communicator& communicator, Stream& stream);

}  // namespace quire::engine
