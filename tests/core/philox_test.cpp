#include "quire/core/philox.h"

#include <gtest/gtest.h>

#include <string>

#include "quire/core/hash.h"

namespace quire {
namespace {

using Words = std::array<std::uint32_t, 4>;

TEST(Philox, MatchesThePublishedVectors) {
  EXPECT_EQ(philox(0, {0, 0, 0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox(~std::uint64_t{0}, {ones, ones, ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822,
                   {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UniformCoversTheHalfOpenUnitInterval) {
  EXPECT_EQ(uniform(0), 0.0f);
  EXPECT_EQ(uniform(0xff), 0.0f);
  EXPECT_EQ(uniform(0x80000000), 0.5f);
  EXPECT_EQ(uniform(0xffffffff), 1.0f - 0x1p-24f);
}

TEST(RandomKey, PutsElementLaneAndStepIntoTheCounter) {
  const RandomKey key{.key = 7, .lane = 3, .step = 9};
  EXPECT_EQ(key.block(5), philox(7, {5, 0, 3, 9}));
  EXPECT_EQ(key.block(0x200000001), philox(7, {1, 2, 3, 9}));
}

TEST(RandomKey, IsTheHashOfSeedIndexAndPath) {
  const std::string bytes("\x02\x01\0\0\0\0\0\0\x05\0\0\0\0\0\0\0block.0", 23);
  EXPECT_EQ(random_key(0x102, "block.0", 5), hash64(bytes));
}

}  // namespace
}  // namespace quire
