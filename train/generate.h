// Text from a saved model, token by token.
#pragma once

#include <cstdint>
#include <string>

#include "quire/comm/communicator.h"
#include "quire/train/result.h"

namespace quire::train {

struct GenerateOptions {
  std::string model;  // a checkpoint, a run's folder, or a Hugging Face folder
  std::string prompt;
  std::int64_t tokens = 64;
  double temperature = 0.0;  // 0: always the likeliest
  std::int64_t top_k = 0;    // sample among the k likeliest; 0: among all
  std::uint64_t seed = 1;
  int threads = 0;  // per rank; 0: chosen
};

// Collective; the result is the same on every rank. The model sees the last
// tokens that its context holds. Throws UsageError for an empty prompt, options
// out of range, and a vocabulary that is not the bytes tokenizer's.
GenerateResult generate(const GenerateOptions& options,
                        comm::Communicator& communicator);

}  // namespace quire::train
