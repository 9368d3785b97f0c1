#include "quire/data/detail/utf8.h"

#include <cstdint>
#include <cstring>

namespace quire::data {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// What may follow a first byte: the number of bytes, and the second's range.
struct Follow {
  std::size_t bytes;
  unsigned char least;
  unsigned char most;
};

Follow follow_of(unsigned char first) {
  if (first >= 0xc2 && first <= 0xdf) return {1, 0x80, 0xbf};
  if (first == 0xe0) return {2, 0xa0, 0xbf};
  if (first == 0xed) return {2, 0x80, 0x9f};
  if (first >= 0xe1 && first <= 0xef) return {2, 0x80, 0xbf};
  if (first == 0xf0) return {3, 0x90, 0xbf};
  if (first >= 0xf1 && first <= 0xf3) return {3, 0x80, 0xbf};
  if (first == 0xf4) return {3, 0x80, 0x8f};
  return {0, 0, 0};
}

// How many bytes of `text`, from its second on, go on with the first.
std::size_t following(std::string_view text, const Follow& follow) {
  std::size_t i = 1;
  for (; i <= follow.bytes && i < text.size(); ++i) {
    const unsigned char byte = byte_at(text, i);
    const bool fits = i == 1 ? byte >= follow.least && byte <= follow.most
                             : (byte & 0xc0) == 0x80;
    if (!fits) break;
  }
  return i - 1;
}

std::size_t ascii_bytes(std::string_view text) {
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, 8);
    if ((word & 0x8080808080808080u) != 0) break;
  }
  while (i < text.size() && byte_at(text, i) < 0x80) ++i;
  return i;
}

}  // namespace

std::size_t valid_utf8(std::string_view text) {
  std::size_t i = 0;
  while ((i += ascii_bytes(text.substr(i))) < text.size()) {
    const Follow follow = follow_of(byte_at(text, i));
    if (follow.bytes == 0 || following(text.substr(i), follow) != follow.bytes)
      return i;
    i += 1 + follow.bytes;
  }
  return i;
}

bool is_unfinished_utf8(std::string_view text) {
  if (text.empty()) return false;
  const Follow follow = follow_of(byte_at(text, 0));
  return text.size() <= follow.bytes &&
         following(text, follow) + 1 == text.size();
}

void append_utf8(char32_t code_point, std::string& text) {
  const auto tail = [&](int shift) {
    text += static_cast<char>(0x80 | (code_point >> shift & 0x3f));
  };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += static_cast<char>(0xc0 | code_point >> 6);
    tail(0);
  } else if (code_point < 0x10000) {
    text += static_cast<char>(0xe0 | code_point >> 12);
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xf0 | code_point >> 18);
    tail(12), tail(6), tail(0);
  }
}

char32_t take_utf8(std::string_view& text) {
  const unsigned char first = byte_at(text, 0);
  const std::size_t more = follow_of(first).bytes;
  char32_t code_point = more == 0 ? first : first & (0x3f >> more);
  for (std::size_t i = 1; i <= more; ++i)
    code_point = code_point << 6 | (byte_at(text, i) & 0x3f);
  text.remove_prefix(1 + more);
  return code_point;
}

}  // namespace quire::data
