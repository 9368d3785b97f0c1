// How vocabulary files spell bytes: every byte is one printable character, its
// own where it has one ('!' to '~', U+00A1 to U+00AC, U+00AE to U+00FF), else
// one from U+0100 on in the order of the bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quire::data {

// The bytes that `spelled` means; none if a character of it means no byte.
std::optional<std::string> bytes_of_spelling(std::string_view spelled);

// The characters that spell the 256 bytes, in their own order, which is that of
// GPT-2's first ids.
std::vector<std::string> spelled_bytes();

}  // namespace quire::data
