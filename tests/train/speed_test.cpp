#include "quire/train/detail/speed.h"

#include <gtest/gtest.h>

namespace quire::train {
namespace {

TEST(Speed, LeavesTheFirstStepOut) {
  Speed speed(100);
  for (const double seconds : {4.0, 1.0, 3.0}) speed.add(seconds);
  EXPECT_EQ(speed.steady(), 50.0);
}

TEST(Speed, IsThatOfTheOnlyStep) {
  Speed speed(100);
  EXPECT_EQ(speed.steady(), 0.0);
  speed.add(4.0);
  EXPECT_EQ(speed.steady(), 25.0);
}

}  // namespace
}  // namespace quire::train
