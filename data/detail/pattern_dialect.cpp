#include "quire/data/detail/pattern_dialect.h"

#include <algorithm>
#include <initializer_list>

namespace quire::data {
namespace {

constexpr std::string_view kWhiteSpace =
    R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F})"
    R"(\x{205F}\x{3000})";

bool is_one_of(std::string_view sign,
               std::initializer_list<std::string_view> signs) {
  return std::ranges::find(signs, sign) != signs.end();
}

// Of more than one character, outside of a class; a ] that comes first in a
// class does not end it.
constexpr std::string_view kSigns[] = {"[^]", "[]", "[^", "(?m", "(*"};

// The next characters that mean something together.
std::string_view next_sign(std::string_view rest, bool in_class) {
  if (rest[0] == '\\') return rest.substr(0, 2);
  if (in_class && rest.starts_with("[:")) {
    const std::size_t end = rest.find(":]");
    if (end != rest.npos) return rest.substr(0, end + 2);
  }
  if (in_class) return rest.substr(0, rest.starts_with("&&") ? 2 : 1);
  for (const std::string_view sign : kSigns)
    if (rest.starts_with(sign)) return sign;
  return rest.substr(0, 1);
}

std::string translated_sign(std::string_view sign, bool in_class) {
  const std::string space(kWhiteSpace);
  if (sign == "\\s") return in_class ? space : "[" + space + "]";
  if (sign == "\\S" && !in_class) return "[^" + space + "]";
  return std::string(sign);
}

bool is_foreign(std::string_view sign, bool in_class) {
  return in_class ? is_one_of(sign, {"[", "&&", "\\Q", "\\h", "\\H"})
                  : is_one_of(sign, {"(?m", "\\Q", "\\h", "\\H"});
}

}  // namespace

TranslatedPattern translate(std::string_view pattern) {
  TranslatedPattern made;
  bool in_class = false;
  while (!pattern.empty()) {
    const std::string_view sign = next_sign(pattern, in_class);
    pattern.remove_prefix(sign.size());
    made.pattern += translated_sign(sign, in_class);
    if (is_foreign(sign, in_class)) made.foreign = sign;
    made.looks_back |= !in_class && is_one_of(sign, {"^", "\\A", "\\G", "\\K",
                                                     "\\b", "\\B", "(*"});
    if (!in_class && sign[0] == '[')
      in_class = true;
    else if (sign == "]")
      in_class = false;
  }
  return made;
}

}  // namespace quire::data
