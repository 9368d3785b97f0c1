// What is trained: a model and the samples of a step, found by a name on the
// command line.
#pragma once

#include <cstdint>

#include "quire/core/batch.h"
#include "quire/models/gpt2.h"

namespace quire::bench {

struct ModelCase {
  const char* name;
  const char* title;
  models::Gpt2Options model;
  std::int64_t samples;  // of a step, spread over the ranks
  std::int64_t sequence;
  int steps;  // that are timed as one: about a second

  std::int64_t tokens() const { return samples * sequence; }
  // (6 N + 12 L C T) a token: N counts parameters without the position table, a
  // multiply-add counts two, attention as if it were full.
  double flops_per_token() const;
};

// "124m" or "small"; null if it is none of them.
const ModelCase* model_case(const char* name);

// Tokens of one lane.
Batch lane_batch(const ModelCase& c, std::int64_t samples, int lane);

}  // namespace quire::bench
