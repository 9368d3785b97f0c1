#include "quire/data/token_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "quire/core/error.h"

namespace quire::data {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 30;  // of either extent

void require_shape(std::int64_t samples, std::int64_t sequence) {
  if (samples >= 1 && sequence >= 1 && samples <= kLargest &&
      sequence <= kLargest)
    return;
  throw UsageError(fmt::format(
      "a batch of {} samples of {} tokens; expected 1 to {} of each", samples,
      sequence, kLargest));
}

Batch batch_of(Tensor tokens, Tensor targets) {
  return {.inputs = {{"tokens", std::move(tokens)}},
          .targets = {{"targets", std::move(targets)}}};
}

}  // namespace

TokenBatch::TokenBatch(std::int64_t samples, std::int64_t sequence)
    : samples_(samples), sequence_(sequence) {
  require_shape(samples, sequence);
  const auto count = static_cast<std::size_t>(samples * sequence);
  tokens_.assign(count, 0);
  targets_.assign(count, kIgnoredTarget);
}

void TokenBatch::set(std::int64_t sample,
                     std::span<const std::int32_t> window) {
  const auto size = static_cast<std::int64_t>(window.size());
  if (sample < 0 || sample >= samples_ || size < 1 || size > sequence_ + 1) {
    throw UsageError(fmt::format(
        "a window of {} tokens for sample {} of a batch [{}, {}]; expected 1 "
        "to {} tokens",
        size, sample, samples_, sequence_, sequence_ + 1));
  }
  const auto start = sample * sequence_;
  std::ranges::copy(window.first(window.size() - (size > sequence_ ? 1 : 0)),
                    tokens_.begin() + start);
  std::ranges::copy(window.subspan(1), targets_.begin() + start);
}

Batch TokenBatch::finish() && {
  const Shape shape{samples_, sequence_};
  return batch_of(tensor_of(std::move(tokens_), shape),
                  tensor_of(std::move(targets_), shape));
}

Batch meta_token_batch(std::int64_t samples, std::int64_t sequence) {
  require_shape(samples, sequence);
  const Shape shape{samples, sequence};
  return batch_of(meta_tensor(DType::kI32, shape),
                  meta_tensor(DType::kI32, shape));
}

}  // namespace quire::data
