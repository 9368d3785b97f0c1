#include "quire/data/loader.h"

#include <fmt/format.h>

#include <limits>

#include "quire/core/error.h"
#include "quire/data/detail/prefetcher.h"
#include "quire/data/token_batch.h"

namespace quire::data {
namespace {

Sampler::Options sampler_options(const Loader::Options& options) {
  if (options.tokens == nullptr)
    throw UsageError("a loader needs tokens; got none");
  try {
    return {
        .samples = training_windows(options.tokens->size(), options.sequence),
        .lanes = options.lanes,
        .lane_samples = options.lane_samples,
        .seed = options.seed};
  } catch (const UsageError& error) {
    throw UsageError(
        fmt::format("{}: {}", options.tokens->path(), error.what()));
  }
}

}  // namespace

Loader::Loader(const Options& options)
    : options_(options), sampler_(sampler_options(options)) {
  if (options.prefetch == Prefetch::kNone) return;
  prefetcher_ = std::make_unique<Prefetcher>(
      [this](const LaneRequest& wanted) { return load(wanted); });
}

Loader::~Loader() = default;

std::vector<Batch> Loader::lanes(std::int64_t step,
                                 std::span<const int> lanes) {
  LaneRequest request{.step = step, .lanes = {lanes.begin(), lanes.end()}};
  if (prefetcher_ == nullptr) return load(request);
  auto ahead = prefetcher_->take(request);
  auto batches = ahead ? std::move(*ahead) : load(request);
  if (step < std::numeric_limits<std::int64_t>::max()) {
    ++request.step;
    prefetcher_->ask(std::move(request));
  }
  return batches;
}

std::vector<Batch> Loader::load(const LaneRequest& wanted) const {
  std::vector<Batch> batches;
  for (const int lane : wanted.lanes)
    batches.push_back(load_lane(wanted.step, lane));
  return batches;
}

Batch Loader::load_lane(std::int64_t step, int lane) const {
  const auto first = sampler_.first_position(step, lane);
  const auto window_tokens = options_.sequence + 1;
  std::vector<std::int32_t> window(static_cast<std::size_t>(window_tokens));
  TokenBatch batch(options_.lane_samples, options_.sequence);
  for (std::int64_t i = 0; i < options_.lane_samples; ++i) {
    const auto sample = sampler_.sample_at(first + i);
    options_.tokens->copy(sample * options_.sequence, window_tokens,
                          window.data());
    batch.set(i, window);
  }
  return std::move(batch).finish();
}

}  // namespace quire::data
