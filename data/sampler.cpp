#include "quire/data/sampler.h"

#include <fmt/format.h>

#include <limits>

#include "quire/core/error.h"
#include "quire/core/philox.h"
#include "quire/data/permutation.h"

namespace quire::data {
namespace {

constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();

void require_position(std::int64_t position) {
  if (position >= 0) return;
  throw UsageError(
      fmt::format("sample position {}; expected 0 or more", position));
}

}  // namespace

std::int64_t training_windows(std::int64_t tokens, std::int64_t sequence) {
  if (sequence < 1) {
    throw UsageError(
        fmt::format("sequences of {} tokens; expected at least 1", sequence));
  }
  if (tokens <= sequence) {
    throw UsageError(fmt::format(
        "{} tokens are too few for one sequence of {}; expected at least one "
        "more token than the sequence: shorten it or take more text",
        tokens, sequence));
  }
  return (tokens - 1) / sequence;
}

Sampler::Sampler(const Options& options) : options_(options) {
  const auto& o = options_;
  if (o.samples < 1 || o.lanes < 1 || o.lane_samples < 1 ||
      o.lanes > kLargest / o.lane_samples) {
    throw UsageError(fmt::format(
        "{} samples in steps of {} lanes of {}; expected at least 1 of each "
        "and steps of less than 2^63 samples",
        o.samples, o.lanes, o.lane_samples));
  }
}

std::int64_t Sampler::first_position(std::int64_t step,
                                     std::int64_t lane) const {
  if (lane < 0 || lane >= options_.lanes) {
    throw UsageError(fmt::format("lane {} of step {}; expected 0 to {}", lane,
                                 step, options_.lanes - 1));
  }
  if (step < 0 || step > kLargest / step_samples() - 1) {
    throw UsageError(fmt::format(
        "step {} of {} samples; expected 0 or more and positions below 2^63",
        step, step_samples()));
  }
  return step * step_samples() + lane * options_.lane_samples;
}

std::int64_t Sampler::epoch_of(std::int64_t position) const {
  require_position(position);
  return position / options_.samples;
}

std::int64_t Sampler::sample_at(std::int64_t position) const {
  const auto epoch = static_cast<std::uint64_t>(epoch_of(position));
  const Permutation order(options_.samples,
                          random_key(options_.seed, "data order", epoch));
  return order(position % options_.samples);
}

}  // namespace quire::data
