#include "quire/optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/tensors.h"

namespace quire::optim {
namespace {

using testing::expect_mentions;
using testing::usage_error_of;
using Type = Schedule::Type;

TEST(Schedule, IsConstantUnlessToldOtherwise) {
  EXPECT_EQ(Schedule{}.factor(0), 1.0);
  EXPECT_EQ(Schedule{}.factor(1000000), 1.0);
}

// The rates of the reference's run: 0.01 after a warm-up of 3.
TEST(Schedule, WarmsUpFromTheFirstUpdate) {
  const Schedule schedule{.warmup = 3};
  EXPECT_DOUBLE_EQ(0.01 * schedule.factor(0), 0.003333333333333333);
  EXPECT_DOUBLE_EQ(0.01 * schedule.factor(1), 0.006666666666666666);
  EXPECT_EQ(0.01 * schedule.factor(2), 0.01);
  EXPECT_EQ(0.01 * schedule.factor(9), 0.01);
}

TEST(Schedule, FallsInALineOverUpdates) {
  const Schedule schedule{.type = Type::kLinear, .steps = 10};
  for (int update = 0; update < 10; ++update) {
    EXPECT_DOUBLE_EQ(schedule.factor(update), 1.0 - update / 10.0);
  }
}

TEST(Schedule, FallsAsACosineAfterTheWarmUp) {
  const Schedule schedule{
      .type = Type::kCosine, .warmup = 2, .steps = 8, .final_ratio = 0.1};
  EXPECT_EQ(schedule.factor(0), 0.5);
  EXPECT_EQ(schedule.factor(2), 1.0);
  EXPECT_NEAR(schedule.factor(4), 0.775, 1e-12);  // cos(pi / 3) = 1/2
  EXPECT_NEAR(schedule.factor(5), 0.55, 1e-12);
  EXPECT_NEAR(schedule.factor(6), 0.325, 1e-12);
}

TEST(Schedule, StaysAtItsFinalRatio) {
  for (const Type type : {Type::kLinear, Type::kCosine}) {
    const Schedule schedule{
        .type = type, .warmup = 2, .steps = 8, .final_ratio = 0.25};
    EXPECT_DOUBLE_EQ(schedule.factor(8), 0.25);
    EXPECT_DOUBLE_EQ(schedule.factor(std::numeric_limits<int>::max()), 0.25);
  }
}

TEST(Schedule, MayEndWithinItsWarmUp) {
  const Schedule schedule{.type = Type::kCosine, .warmup = 10, .steps = 5};
  EXPECT_NO_THROW(check_schedule(schedule));
  EXPECT_EQ(schedule.factor(4), 0.5);
  EXPECT_EQ(schedule.factor(9), 1.0);
  EXPECT_EQ(schedule.factor(10), 0.0);
}

TEST(Schedule, RefusesByKey) {
  expect_mentions(usage_error_of([] { check_schedule({.warmup = -1}); }),
                  {"schedule.warmup", "-1"});
  expect_mentions(usage_error_of([] { check_schedule({.final_ratio = 1.5}); }),
                  {"schedule.final_ratio", "1.5", "0 to 1"});
  expect_mentions(usage_error_of([] { check_schedule({.final_ratio = NAN}); }),
                  {"schedule.final_ratio", "nan"});
  expect_mentions(
      usage_error_of([] { check_schedule({.type = Type::kLinear}); }),
      {"schedule.steps", "0", "at least 1"});
}

}  // namespace
}  // namespace quire::optim
