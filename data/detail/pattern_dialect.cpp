#include "quire/data/detail/pattern_dialect.h"

#include <algorithm>

namespace quire::data {
namespace {

constexpr std::string_view kWhiteSpace =
    R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F})"
    R"(\x{205F}\x{3000})";

// Calls visit(sign, in_class) for every character and every escape of two.
template <class Visit>
void each_sign(std::string_view pattern, const Visit& visit) {
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size();) {
    const std::size_t bytes =
        pattern[i] == '\\' && i + 1 < pattern.size() ? 2 : 1;
    const std::string_view sign = pattern.substr(i, bytes);
    visit(sign, in_class);
    if (sign == "[") in_class = true;
    if (sign == "]") in_class = false;
    i += bytes;
  }
}

}  // namespace

std::string translated_pattern(std::string_view pattern) {
  std::string translated;
  each_sign(pattern, [&](std::string_view sign, bool in_class) {
    if (sign == "\\s") {
      translated += in_class ? std::string(kWhiteSpace)
                             : "[" + std::string(kWhiteSpace) + "]";
    } else if (sign == "\\S" && !in_class) {
      translated += "[^" + std::string(kWhiteSpace) + "]";
    } else {
      translated += sign;
    }
  });
  return translated;
}

bool looks_back(std::string_view pattern) {
  bool found = false;
  each_sign(pattern, [&](std::string_view sign, bool in_class) {
    constexpr std::string_view kSigns[] = {"^", "\\A", "\\G", "\\b", "\\B"};
    found |= !in_class && std::ranges::find(kSigns, sign) != std::end(kSigns);
  });
  return found;
}

}  // namespace quire::data
