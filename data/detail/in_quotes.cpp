#include "quire/data/detail/in_quotes.h"

#include <fmt/format.h>

#include "quire/data/detail/utf8.h"

namespace quire::data {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kMost = 40;
  const bool is_text = valid_utf8(text) == text.size();
  const std::string_view shown = text.substr(0, kMost);
  std::string line = "\"";
  for (const char c : shown.substr(0, is_text ? valid_utf8(shown) : kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool prints = byte >= 0x80 ? is_text : byte >= 0x20 && byte != 0x7f;
    line += prints ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return line + (text.size() > kMost ? "...\"" : "\"");
}

}  // namespace quire::data
