// A whole held-out text as lanes of equal shape in which every target counts
// exactly once.
#pragma once

#include <cstdint>
#include <memory>

#include "quire/core/batch.h"
#include "quire/data/token_set.h"

namespace quire::data {

// Window w holds the sequence + 1 tokens from w * sequence on; what the last
// one lacks is token 0 and an ignored target. Lane v holds windows v * m to
// v * m + m - 1; windows that do not exist are wholly ignored. Const calls from
// any number of threads.
class EvaluationWindows {
 public:
  struct Options {
    std::shared_ptr<const TokenSet> tokens;
    std::int64_t sequence;
    std::int64_t lane_samples;  // m
  };
  // Throws UsageError naming the path unless there are two tokens and the
  // counts are positive.
  explicit EvaluationWindows(const Options& options);

  std::int64_t targets() const { return options_.tokens->size() - 1; }
  std::int64_t windows() const;
  std::int64_t lanes() const;

  // token_batch.h; every lane has at least one target that counts. REQUIRES:
  // 0 <= lane < lanes(); else UsageError.
  Batch batch(std::int64_t lane) const;

 private:
  Options options_;
};

}  // namespace quire::data
