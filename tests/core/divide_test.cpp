#include "quire/core/divide.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace quire {
namespace {

TEST(DivideUp, LeavesNothingOver) {
  EXPECT_EQ(divide_up(0, 4), 0);
  EXPECT_EQ(divide_up(8, 4), 2);
  EXPECT_EQ(divide_up(9, 4), 3);
  EXPECT_EQ(divide_up(INT64_MAX, 2), std::int64_t{1} << 62);
}

TEST(RoundUp, EndsOnAMultiple) {
  EXPECT_EQ(round_up(0, 64), 0);
  EXPECT_EQ(round_up(64, 64), 64);
  EXPECT_EQ(round_up(65, 64), 128);
}

}  // namespace
}  // namespace quire
