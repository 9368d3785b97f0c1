// The ids of a text that comes in blocks, cut anywhere: those of the whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quire/data/tokenizer.h"

namespace quire::data {

// The calls match: (add* finish)*, once per text. What they return is valid
// until the next call. Holds the end of the text that may still belong to a
// longer piece: some bytes, but all of a text without a place to cut. Throws
// UsageError when that is more than a GiB.
class TextEncoder {
 public:
  // `tokenizer` must outlive it.
  explicit TextEncoder(const Tokenizer& tokenizer,
                       Specials specials = Specials::kAsText)
      : tokenizer_(&tokenizer), specials_(specials) {}

  std::span<const std::int32_t> add(std::string_view block);
  std::span<const std::int32_t> finish();

 private:
  TextPart part() const {
    return {.text = held_, .begun = begun_, .specials = specials_};
  }

  const Tokenizer* tokenizer_;
  Specials specials_;
  std::string held_;
  bool begun_ = false;
  std::size_t wanted_ = 0;  // bytes in held_ from which on to try again
  std::vector<std::int32_t> ids_;
};

}  // namespace quire::data
