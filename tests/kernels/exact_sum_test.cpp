#include "quire/kernels/exact_sum.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/support/tensors.h"

namespace quire::kernels {
namespace {

using testing::Cpu;

constexpr double kMax = std::numeric_limits<double>::max();
constexpr double kLeast = 0x1p-1074;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double sum_of(std::initializer_list<double> values) {
  ExactSum sum;
  for (double value : values) sum.add(value);
  return sum.value();
}

// By bits: a thread that flushes subnormals sees them equal to zero.
void expect_sum(std::initializer_list<double> values, double expected) {
  EXPECT_EQ(std::bit_cast<std::uint64_t>(sum_of(values)),
            std::bit_cast<std::uint64_t>(expected));
}

TEST(ExactSum, OfNothingIsZero) { expect_sum({}, 0.0); }

TEST(ExactSum, OfOneValueIsThatValue) {
  for (double value : {1.0, -1.0, 0.1, -1e-300, kMax, -kMax, kLeast, -kLeast,
                       0x1p-1022, 0x1.ffffffffffffep-1023}) {
    expect_sum({value}, value);
  }
}

TEST(ExactSum, KeepsWhatCancellationLeaves) {
  expect_sum({1e300, 1.0, -1e300}, 1.0);
  expect_sum({kMax, kLeast, -kMax}, kLeast);
  expect_sum({kMax, -kMax}, 0.0);
  expect_sum({1.0, -1.0 - 0x1p-52}, -0x1p-52);
}

TEST(ExactSum, RoundsTiesToEven) {
  expect_sum({1.0, 0x1p-53}, 1.0);
  expect_sum({1.0 + 0x1p-52, 0x1p-53}, 1.0 + 0x1p-51);
  expect_sum({-1.0, -0x1p-53}, -1.0);
}

TEST(ExactSum, SeesTheSmallestBitBeyondATie) {
  expect_sum({1.0, 0x1p-53, kLeast}, 1.0 + 0x1p-52);
  expect_sum({1.0 + 0x1p-52, 0x1p-53, -kLeast}, 1.0 + 0x1p-52);
}

TEST(ExactSum, CarriesThroughAllLimbs) {
  expect_sum({2.0 - 0x1p-52, 0x1p-52}, 2.0);
  expect_sum({2.0 - 0x1p-52, 0x1p-53}, 2.0);
  expect_sum({0x1p1000, -kLeast}, 0x1p1000);
  expect_sum({0x1p1000, -kLeast, -0x1p1000}, -kLeast);
}

TEST(ExactSum, CrossesIntoAndOutOfSubnormals) {
  expect_sum({0x1.ffffffffffffep-1023, kLeast}, 0x1p-1022);
  expect_sum({0x1p-1022, -kLeast}, 0x1.ffffffffffffep-1023);
  expect_sum({kLeast, kLeast, kLeast}, 3 * kLeast);
}

TEST(ExactSum, OverflowsOnlyIfTheWholeSumDoes) {
  expect_sum({kMax, kMax}, kInfinity);
  expect_sum({-kMax, -kMax}, -kInfinity);
  expect_sum({kMax, kMax, -kMax}, kMax);
  expect_sum({kMax, 0x1p969}, kMax);
  expect_sum({kMax, 0x1p970}, kInfinity);
}

TEST(ExactSum, CountsNansAndInfinitiesApart) {
  EXPECT_TRUE(std::isnan(sum_of({1.0, std::nan(""), 2.0})));
  EXPECT_TRUE(std::isnan(sum_of({kInfinity, -kInfinity})));
  expect_sum({kInfinity, -kMax}, kInfinity);
  expect_sum({1.0, -kInfinity}, -kInfinity);
  ExactSum sum;
  EXPECT_TRUE(sum.finite());
  sum.add(-kInfinity);
  EXPECT_FALSE(sum.finite());
}

TEST(ExactSum, IsTheSameInAnyOrderAndGrouping) {
  ExactSum forwards, left, right;
  for (int i = 0; i < 2000; ++i) {
    const double value = std::ldexp(std::sin(i + 1.0), (i * 37) % 900 - 450);
    forwards.add(value);
    (i % 3 == 0 ? left : right).add(value);
  }
  right.add(left);
  EXPECT_EQ(forwards.value(), right.value());
}

TEST(ExactSum, HoldsAMillionEqualValues) {
  ExactSum sum;
  for (int i = 0; i < 1000000; ++i) sum.add(-(2.0 - 0x1p-52));
  EXPECT_EQ(sum.value(), -2e6 + 1000000 * 0x1p-52);
}

double squares_of(const Tensor& x, int threads = 1) {
  Cpu cpu(threads);
  ExactSum sum;
  sum_of_squares({.x = x, .sum = &sum}, cpu.stream);
  return sum.value();
}

TEST(SumOfSquares, NeitherOverflowsNorVanishes) {
  const Tensor big = testing::tensor_of({1e20f, 1e20f, 1e20f, 1e20f}, {4});
  EXPECT_NEAR(std::sqrt(squares_of(big)), 2e20, 2e13);
  const Tensor small =
      testing::tensor_of({1e-25f, 1e-25f, 1e-25f, 1e-25f}, {4});
  EXPECT_NEAR(std::sqrt(squares_of(small)), 2e-25, 2e-32);
}

TEST(SumOfSquares, TellsThatAnElementIsNotFinite) {
  for (float bad : {std::nanf(""), INFINITY}) {
    const Tensor x = testing::random_tensor({1000}, 3);
    x.data<float>()[777] = bad;
    Cpu cpu;
    ExactSum sum;
    sum_of_squares({.x = x, .sum = &sum}, cpu.stream);
    EXPECT_FALSE(sum.finite());
  }
}

TEST(SumOfSquares, EqualsTheReferenceAtAnyLengthAndThreads) {
  for (std::int64_t n : {0, 1, 255, 256, 257, 1000, 65536, 200003}) {
    const Tensor x = testing::random_tensor({n}, 5);
    Cpu cpu;
    ExactSum expected;
    reference::sum_of_squares({.x = x, .sum = &expected}, cpu.stream);
    for (int threads : {1, 2, 3}) {
      EXPECT_EQ(squares_of(x, threads), expected.value()) << n;
    }
  }
}

TEST(SumOfSquares, IsTheSameHoweverTilesAreSharded) {
  const Tensor x = testing::random_tensor({5000}, 7);
  Cpu cpu;
  ExactSum shards;
  for (std::int64_t begin : {2560, 0}) {
    const std::int64_t count = begin == 0 ? 2560 : 5000 - 2560;
    sum_of_squares({.x = x.range(begin, count), .sum = &shards}, cpu.stream);
  }
  EXPECT_EQ(shards.value(), squares_of(x));
}

TEST(SumOfSquares, TakesItsScratchOnMetaToo) {
  Cpu cpu, meta(1, Device::kMeta);
  ExactSum sum;
  sum_of_squares({.x = cpu.empty(DType::kF32, {70000}), .sum = &sum},
                 cpu.stream);
  sum_of_squares({.x = meta.empty(DType::kF32, {70000}), .sum = &sum},
                 meta.stream);
  EXPECT_GT(meta.scratch_peak(), 0);
  EXPECT_EQ(meta.scratch_peak(), cpu.scratch_peak());
}

}  // namespace
}  // namespace quire::kernels
