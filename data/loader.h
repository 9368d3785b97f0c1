// The lanes' batches of a training step, read from tokens in the sampler's
// order. The step is an argument: a loader has no position, so resuming is
// asking for another step.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "quire/core/batch.h"
#include "quire/data/sampler.h"
#include "quire/data/token_set.h"

namespace quire::data {

class Prefetcher;    // private to this room
struct LaneRequest;  // private to this room

// Sample i is the window of sequence + 1 tokens from i * sequence on. Used by
// one thread, the rank's; ranks of a process share the tokens.
class Loader {
 public:
  enum class Prefetch : std::uint8_t { kNone, kNextStep };
  struct Options {
    std::shared_ptr<const TokenSet> tokens;
    std::int64_t sequence;
    std::int64_t lanes;
    std::int64_t lane_samples;
    std::uint64_t seed;
    Prefetch prefetch = Prefetch::kNextStep;
  };
  // Throws UsageError naming the path if its tokens are too few for one sample,
  // or a count is not positive.
  explicit Loader(const Options& options);
  ~Loader();

  // One batch per lane of `lanes`, in their order: token_batch.h. With
  // prefetch, the same lanes of the next step are then loaded by a thread; a
  // batch that was loaded for any other step or lanes is never given. Throws
  // what reading throws, whichever thread read.
  std::vector<Batch> lanes(std::int64_t step, std::span<const int> lanes);

  const Sampler& sampler() const { return sampler_; }

 private:
  std::vector<Batch> load(const LaneRequest& wanted) const;
  Batch load_lane(std::int64_t step, int lane) const;

  Options options_;
  Sampler sampler_;
  std::unique_ptr<Prefetcher> prefetcher_;  // null: none
};

}  // namespace quire::data
