// Where bytes are UTF-8: shortest forms of code points up to U+10FFFF without
// surrogates.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace quire::data {

// The bytes of `text` before the first that belongs to no whole character.
std::size_t valid_utf8(std::string_view text);

// Whether `text` is the beginning of a character that lacks its end.
bool is_unfinished_utf8(std::string_view text);

void append_utf8(char32_t code_point, std::string& text);

// The first code point of `text`, which it shortens by it. REQUIRES: `text` is
// UTF-8 and not empty.
char32_t take_utf8(std::string_view& text);

}  // namespace quire::data
