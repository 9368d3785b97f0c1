#include "quire/data/evaluation_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "quire/core/divide.h"
#include "quire/core/error.h"
#include "quire/data/token_batch.h"

namespace quire::data {

EvaluationWindows::EvaluationWindows(const Options& options)
    : options_(options) {
  if (options.tokens == nullptr)
    throw UsageError("an evaluation needs tokens; got none");
  const auto& path = options.tokens->path();
  if (options.sequence < 1 || options.lane_samples < 1) {
    throw UsageError(fmt::format(
        "{} cannot be evaluated in lanes of {} sequences of {} tokens; "
        "expected at least 1 of each",
        path, options.lane_samples, options.sequence));
  }
  if (targets() < 1) {
    throw UsageError(fmt::format(
        "{} holds {} token, so there is no target to evaluate; expected at "
        "least 2 tokens",
        path, options.tokens->size()));
  }
}

std::int64_t EvaluationWindows::windows() const {
  return divide_up(targets(), options_.sequence);
}

std::int64_t EvaluationWindows::lanes() const {
  return divide_up(windows(), options_.lane_samples);
}

Batch EvaluationWindows::batch(std::int64_t lane) const {
  if (lane < 0 || lane >= lanes()) {
    throw UsageError(fmt::format("evaluation lane {} of {}; expected 0 to {}",
                                 lane, options_.tokens->path(), lanes() - 1));
  }
  const auto first = lane * options_.lane_samples;
  const auto count = std::min(options_.lane_samples, windows() - first);
  TokenBatch batch(options_.lane_samples, options_.sequence);
  std::vector<std::int32_t> window(static_cast<std::size_t>(options_.sequence) +
                                   1);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto begin = (first + i) * options_.sequence;
    const auto tokens =
        std::min(options_.sequence + 1, options_.tokens->size() - begin);
    options_.tokens->copy(begin, tokens, window.data());
    batch.set(i, std::span(window).first(static_cast<std::size_t>(tokens)));
  }
  return std::move(batch).finish();
}

}  // namespace quire::data
