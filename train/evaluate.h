// The loss of a saved model over a whole text.
#pragma once

#include <cstdint>
#include <string>

#include "quire/comm/communicator.h"
#include "quire/train/result.h"

namespace quire::train {

struct EvaluateOptions {
  std::string model;  // what convert::open_weights reads
  std::string data;   // a token file, or a pattern or path of its shards
  // 0: a run's data.sequence, or the model's context.
  std::int64_t sequence = 0;
  int threads = 0;  // per rank; 0: chosen
};

// Collective; the result is the same on every rank, and for every number of
// them. Every token but the first is a target once.
EvaluateResult evaluate(const EvaluateOptions& options,
                        comm::Communicator& communicator);

}  // namespace quire::train
