// What a language model sees of a lane: input "tokens" and target "targets",
// both [samples, sequence] i32, where a target is the token that follows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quire/core/batch.h"

namespace quire::data {

// A target that counts for nothing: the loss's ignore index.
inline constexpr std::int32_t kIgnoredTarget = -100;

// A batch being filled, in memory that no allocator accounts for. Starts with
// every token 0 and every target ignored. Used by one thread.
class TokenBatch {
 public:
  // REQUIRES: both are 1 to 2^30; else UsageError.
  TokenBatch(std::int64_t samples, std::int64_t sequence);

  // The sample's tokens and targets are those of consecutive `window` tokens;
  // what lies behind a shorter window stays as it was. REQUIRES: sample is in
  // range, 1 <= window.size() <= sequence + 1; else UsageError.
  void set(std::int64_t sample, std::span<const std::int32_t> window);

  // The tensors own the memory; nothing is left here.
  Batch finish() &&;

 private:
  std::int64_t samples_;
  std::int64_t sequence_;
  std::vector<std::int32_t> tokens_;   // [samples, sequence]
  std::vector<std::int32_t> targets_;  // the same
};

// The same tensors on the meta device, for a dry run.
Batch meta_token_batch(std::int64_t samples, std::int64_t sequence);

}  // namespace quire::data
