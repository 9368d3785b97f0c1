// Text from a saved model, token by token.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "quire/comm/communicator.h"
#include "quire/train/result.h"

namespace quire::train {

struct GenerateOptions {
  std::string model;  // what convert::open_weights reads
  std::string prompt;
  std::int64_t tokens = 64;
  double temperature = 0.0;  // 0: always the likeliest
  std::int64_t top_k = 0;    // sample among the k likeliest; 0: among all
  std::uint64_t seed = 1;
  int threads = 0;  // per rank; 0: chosen
  // Called by rank 0 while the text grows, with whole characters.
  std::function<void(std::string_view text)> on_text = {};
};

// Collective; the result is the same on every rank. The tokenizer is that of
// the model's files, or bytes for a vocabulary of 256 without any; what it puts
// around a prompt (data::Frame) is put there. The model sees the last tokens
// that its context holds; a token that its files call the end of a text ends
// this one and is no part of it. Throws UsageError for an empty prompt that
// nothing is put around, options out of range, and a model without a tokenizer.
GenerateResult generate(const GenerateOptions& options,
                        comm::Communicator& communicator);

}  // namespace quire::train
