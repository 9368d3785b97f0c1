#include "quire/train/detail/characters.h"

#include <algorithm>

namespace quire::train {
namespace {

constexpr std::size_t kLongest = 4;

bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0u) == 0x80u;
}

// Of the character that begins with `byte`; 1 for a byte that begins none.
std::size_t length_of(char byte) {
  const auto bits = static_cast<unsigned char>(byte);
  if (bits >= 0xc2 && bits <= 0xdf) return 2;
  if (bits >= 0xe0 && bits <= 0xef) return 3;
  if (bits >= 0xf0 && bits <= 0xf4) return 4;
  return 1;
}

// Bytes of an unfinished character at the end of `text`; 0 if there is none.
std::size_t unfinished(std::string_view text) {
  const std::size_t most = std::min(text.size(), kLongest - 1);
  for (std::size_t count = 1; count <= most; ++count) {
    const char byte = text[text.size() - count];
    if (continues(byte)) continue;
    return length_of(byte) > count ? count : 0;
  }
  return 0;
}

}  // namespace

std::string Characters::take(std::string_view bytes) {
  held_ += bytes;
  const std::size_t whole = held_.size() - unfinished(held_);
  std::string text = held_.substr(0, whole);
  held_.erase(0, whole);
  return text;
}

}  // namespace quire::train
