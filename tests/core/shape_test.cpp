#include "quire/core/shape.h"

#include <gtest/gtest.h>

#include <vector>

#include "quire/core/error.h"

namespace quire {
namespace {

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape().numel(), 1);
  EXPECT_EQ((Shape{2, 3, 4}).numel(), 24);
  EXPECT_EQ((Shape{2, 0, 4}).numel(), 0);
  EXPECT_EQ((Shape{65536, 32769}).numel(), 2147549184);
}

TEST(Shape, NegativeDimensionsCountFromTheEnd) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[-1], 4);
  EXPECT_EQ(shape[-3], 2);
}

TEST(Shape, IsComparedByRankAndExtents) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
  EXPECT_NE(Shape(), Shape{0});
}

TEST(Shape, IsWrittenInBrackets) {
  EXPECT_EQ((Shape{2, 3}).to_string(), "[2, 3]");
  EXPECT_EQ(Shape().to_string(), "[]");
}

TEST(Shape, RefusesNegativeTooManyAndOverflow) {
  const std::int64_t big = std::int64_t{1} << 32;
  EXPECT_THROW((Shape{2, -1}), UsageError);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1}), UsageError);
  EXPECT_THROW((Shape{big, big / 2}), UsageError);
  EXPECT_EQ((Shape{big, big / 4}).numel(), std::int64_t{1} << 62);
  EXPECT_EQ((Shape{big, big, 0}).numel(), 0);
}

}  // namespace
}  // namespace quire
