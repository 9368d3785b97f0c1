// Which sample every lane of every step sees: a function of (seed, epoch,
// position) alone. Ranks do not occur here, so no number of them and no resume
// changes an order.
//
//   position p             sample p mod N of the order of epoch p div N
//   lane v of step t       positions t * G + v * m  ...  t * G + v * m + m - 1
//
// with N samples per epoch, m samples per lane, V lanes and G = V * m. The
// positions run on over the ends of epochs: a step may span them, every sample
// of an epoch is seen once, none is dropped.
#pragma once

#include <cstdint>

namespace quire::data {

// The whole windows of sequence + 1 tokens at stride `sequence`: the tokens
// after the last one are not trained on. Throws UsageError if there is none.
std::int64_t training_windows(std::int64_t tokens, std::int64_t sequence);

// No state: const calls from any number of threads.
class Sampler {
 public:
  struct Options {
    std::int64_t samples;       // N
    std::int64_t lanes;         // V
    std::int64_t lane_samples;  // m
    std::uint64_t seed;
  };
  // REQUIRES: all counts at least 1; else UsageError.
  explicit Sampler(const Options& options);

  std::int64_t samples() const { return options_.samples; }
  std::int64_t step_samples() const {  // G
    return options_.lanes * options_.lane_samples;
  }

  // The first of the lane's m positions. Steps count from 0: step t is the one
  // after t finished steps. Throws UsageError if the lane or the step does not
  // exist, or positions would leave 63 bits.
  std::int64_t first_position(std::int64_t step, std::int64_t lane) const;
  // REQUIRES: position >= 0; else UsageError.
  std::int64_t epoch_of(std::int64_t position) const;
  std::int64_t sample_at(std::int64_t position) const;

 private:
  Options options_;
};

}  // namespace quire::data
