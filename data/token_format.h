// The layout of a token file, which is llm.c's. All numbers are little endian:
//
//   header   256 x i32: magic, version, number of tokens, zeros
//   tokens   u16 each (magic 20240520, version 1)
//            or u32 each (magic 20240801, version 7)
//
// Nothing follows the last token.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace quire::data {

// The value is the bytes of one token.
enum class TokenWidth : std::uint8_t { kU16 = 2, kU32 = 4 };

constexpr std::int64_t size_of(TokenWidth width) {
  return static_cast<std::int64_t>(width);
}

// The narrower width that holds every id below `vocabulary`.
constexpr TokenWidth width_for(std::int64_t vocabulary) {
  return vocabulary <= 65536 ? TokenWidth::kU16 : TokenWidth::kU32;
}

struct TokenFormat {
  TokenWidth width;
  std::int32_t magic;
  std::int32_t version;
};
inline constexpr TokenFormat kU16Format = {TokenWidth::kU16, 20240520, 1};
inline constexpr TokenFormat kU32Format = {TokenWidth::kU32, 20240801, 7};

constexpr TokenFormat format_of(TokenWidth width) {
  return width == TokenWidth::kU16 ? kU16Format : kU32Format;
}

using TokenHeader = std::array<std::int32_t, 256>;
inline constexpr std::int64_t kTokenHeaderBytes = sizeof(TokenHeader);
// The header counts in 31 bits.
inline constexpr std::int64_t kMaxFileTokens = (std::int64_t{1} << 31) - 1;

static_assert(std::endian::native == std::endian::little,
              "token files are read and written as they lie in memory");

}  // namespace quire::data
