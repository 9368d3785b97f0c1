// What a token adds to a text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "quire/data/tokenizer.h"

namespace quire::train {

// The bytes of `id` behind the token `before`, or where a text begins: there a
// tokenizer may drop a blank.
std::string added_text(const data::Tokenizer& tokenizer,
                       std::optional<std::int32_t> before, std::int32_t id);

}  // namespace quire::train
