// The next token from the logits of the last one.
#pragma once

#include <cstdint>
#include <span>

namespace quire::train {

struct SampleOptions {
  double temperature = 0.0;  // 0: the likeliest, the lowest id of equals
  std::int64_t top_k = 0;    // 0: all
  std::uint64_t seed = 1;
};

// Throws UsageError naming the option that is out of its range.
void check(const SampleOptions& options);

// Token `index` of a text: a function of (seed, index, logits) alone. Throws
// UsageError if a logit is NaN or +Inf. REQUIRES: logits is not empty.
std::int32_t sample_token(std::span<const float> logits,
                          const SampleOptions& options, std::int64_t index);

}  // namespace quire::train
