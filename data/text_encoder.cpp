#include "quire/data/text_encoder.h"

#include <fmt/format.h>

#include "quire/core/error.h"

namespace quire::data {
namespace {

constexpr std::size_t kMostHeld = std::size_t{1} << 30;

}  // namespace

// A long stretch without a place to cut is tried again only when it has
// doubled, so that many small blocks do not cost the square of its length.
std::span<const std::int32_t> TextEncoder::add(std::string_view block) {
  ids_.clear();
  held_.append(block);
  if (held_.size() < wanted_) return ids_;
  const TextPart part = {.text = held_, .more = true, .specials = specials_};
  held_.erase(0, tokenizer_->append(part, ids_));
  if (held_.size() > kMostHeld) {
    throw UsageError(fmt::format(
        "the tokenizer \"{}\" finds no place to cut in {} bytes of text; "
        "expected words, or another tokenizer",
        tokenizer_->name(), held_.size()));
  }
  wanted_ = 2 * held_.size();
  return ids_;
}

std::span<const std::int32_t> TextEncoder::finish() {
  ids_.clear();
  tokenizer_->append({.text = held_, .specials = specials_}, ids_);
  held_.clear();
  wanted_ = 0;
  return ids_;
}

}  // namespace quire::data
