#include "quire/data/detail/byte_spelling.h"

#include "quire/data/detail/utf8.h"

namespace quire::data {
namespace {

bool spells_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) ||
         byte >= 0xae;
}

constexpr char32_t kFirstOther = 0x100;

// The bytes from U+0100 on.
std::string other_bytes() {
  std::string others;
  for (int byte = 0; byte < 256; ++byte)
    if (!spells_itself(byte)) others += static_cast<char>(byte);
  return others;
}

}  // namespace

std::optional<std::string> bytes_of_spelling(std::string_view spelled) {
  static const std::string others = other_bytes();
  if (valid_utf8(spelled) != spelled.size()) return {};
  std::string bytes;
  while (!spelled.empty()) {
    const char32_t c = take_utf8(spelled);
    if (c < kFirstOther && spells_itself(static_cast<int>(c))) {
      bytes += static_cast<char>(c);
    } else if (c >= kFirstOther && c - kFirstOther < others.size()) {
      bytes += others[c - kFirstOther];
    } else {
      return {};
    }
  }
  return bytes;
}

std::vector<std::string> spelled_bytes() {
  std::vector<std::string> spelled;
  for (char32_t c = 0; spelled.size() < 256; ++c) {
    std::string character;
    append_utf8(c, character);
    if (bytes_of_spelling(character)) spelled.push_back(character);
  }
  return spelled;
}

}  // namespace quire::data
