#include "quire/core/hash.h"

#include <gtest/gtest.h>

#include "quire/core/error.h"

namespace quire {
namespace {

TEST(Hash64, MatchesKnownValues) {
  EXPECT_EQ(hash64(""), 0x2d06800538d394c2u);
  EXPECT_EQ(hash64("a"), 0xe6c632b61e964e1fu);
  EXPECT_EQ(hash64("abc"), 0x78af5f94892f3950u);
  EXPECT_EQ(hash64(std::span<const std::byte>()), 0x2d06800538d394c2u);
}

TEST(Hasher, HashesTheConcatenation) {
  Hasher hasher;
  EXPECT_EQ(hasher.digest(), hash64(""));
  hasher.add("ab");
  hasher.add("c");
  EXPECT_EQ(hasher.digest(), hash64("abc"));
}

TEST(Hasher, AddsWordsLittleEndian) {
  Hasher hasher;
  hasher.add(std::uint64_t{0x6867666564636261});
  EXPECT_EQ(hasher.digest(), hash64("abcdefgh"));
}

TEST(Hasher, CutsDoNotMatter) {
  const std::string text(3000, 'q');
  Hasher hasher;
  for (std::size_t i = 0; i < text.size(); i += 250)
    hasher.add(text.substr(i, 250));
  Hasher moved = std::move(hasher);
  EXPECT_EQ(moved.digest(), hash64(text));
}

TEST(Hex, HasSixteenLowerCaseDigits) {
  EXPECT_EQ(to_hex(0xabc), "0000000000000abc");
  EXPECT_EQ(parse_hex("0000000000000abc"), 0xabcu);
  EXPECT_EQ(parse_hex("ffffffffffffffff"), ~std::uint64_t{0});
}

TEST(Hex, AnythingElseIsRefused) {
  for (const char* text : {"", "abc", "0x00000000000abc", "000000000000000g",
                           "-000000000000abc", "00000000000000abc"}) {
    EXPECT_THROW(parse_hex(text), UsageError) << text;
  }
}

}  // namespace
}  // namespace quire
