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
  TextPart here = part();
  here.more = true;
  const std::size_t settled = tokenizer_->append(here, ids_);
  held_.erase(0, settled);
  begun_ = begun_ || settled > 0;
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
  tokenizer_->append(part(), ids_);
  held_.clear();
  begun_ = false;
  wanted_ = 0;
  return ids_;
}

}  // namespace quire::data
