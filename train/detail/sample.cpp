#include "quire/train/detail/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "quire/core/error.h"
#include "quire/core/philox.h"

namespace quire::train {
namespace {

constexpr float kMost = std::numeric_limits<float>::max();

double uniform_of(std::uint64_t seed, std::int64_t index) {
  const auto quad = static_cast<std::uint64_t>(index);
  const RandomKey key{.key = random_key(seed, "generate", 0)};
  const auto words = key.block(quad);
  const std::uint64_t bits = std::uint64_t{words[0]} << 32 | words[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// Ids by falling logit, equals by rising id.
std::vector<std::int32_t> likeliest(std::span<const float> logits,
                                    std::int64_t count) {
  std::vector<std::int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto before = [&](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)];
    const float y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), before);
  ids.resize(static_cast<std::size_t>(count));
  return ids;
}

}  // namespace

void check(const SampleOptions& options) {
  if (!(options.temperature >= 0.0) || !std::isfinite(options.temperature)) {
    throw UsageError(
        fmt::format("temperature is {}; expected a finite number, 0 or above",
                    options.temperature));
  }
  if (options.top_k < 0) {
    throw UsageError(fmt::format(
        "top_k is {}; expected 0 (all) or a number of tokens", options.top_k));
  }
}

std::int32_t sample_token(std::span<const float> logits,
                          const SampleOptions& options, std::int64_t index) {
  if (std::ranges::any_of(logits, [](float x) { return !(x <= kMost); }))
    throw UsageError(fmt::format(
        "the model's logits for token {} are not numbers: it has diverged",
        index));
  const auto vocabulary = static_cast<std::int64_t>(logits.size());
  if (options.temperature == 0.0) return likeliest(logits, 1).front();
  const bool all = options.top_k == 0 || options.top_k > vocabulary;
  const auto ids = likeliest(logits, all ? vocabulary : options.top_k);
  const double top = logits[static_cast<std::size_t>(ids.front())];
  std::vector<double> until(ids.size());  // sums of the weights up to each
  double sum = 0.0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const double logit = logits[static_cast<std::size_t>(ids[i])];
    sum += std::exp((logit - top) / options.temperature);
    until[i] = sum;
  }
  const double drawn = uniform_of(options.seed, index) * sum;
  const auto chosen = std::ranges::upper_bound(until, drawn) - until.begin();
  return ids[std::min(static_cast<std::size_t>(chosen), ids.size() - 1)];
}

}  // namespace quire::train
