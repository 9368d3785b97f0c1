#include "quire/kernels/rotary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/tensors.h"

namespace quire::kernels {
namespace {

using namespace quire::testing;
using Direction = Rotary::Direction;
using Frequencies = std::vector<float>;

Tensor turned(const Tensor& x, const Frequencies& frequencies,
              Direction direction = Direction::kForward, int threads = 2) {
  Cpu cpu(threads);
  const Tensor y = zeros(x.shape(), x.dtype());
  rotary({.x = x, .y = y, .frequencies = frequencies, .direction = direction},
         cpu.stream);
  return y;
}

Tensor expected(const Tensor& x, const Frequencies& frequencies,
                Direction direction = Direction::kForward) {
  Cpu cpu;
  const Tensor y = zeros(x.shape(), x.dtype());
  reference::rotary(
      {.x = x, .y = y, .frequencies = frequencies, .direction = direction},
      cpu.stream);
  return y;
}

// Of a head of `width`: 1 and falling.
Frequencies falling(std::int64_t width) {
  Frequencies frequencies;
  for (std::int64_t i = 0; i < width / 2; ++i)
    frequencies.push_back(
        std::pow(0.01f, static_cast<float>(2 * i) / static_cast<float>(width)));
  return frequencies;
}

TEST(Rotary, TurnsPairsThatAreHalfAHeadApart) {
  const float quarter = 1.57079632679f;
  const Tensor x = tensor_of({1, 2, 3, 4, 1, 2, 3, 4}, {1, 2, 4});
  const Tensor y = turned(x, {quarter, 0.0f});
  expect_close(y, tensor_of({1, 2, 3, 4, -3, 2, 1, 4}, {1, 2, 4}), 1e-7);
}

TEST(Rotary, CountsPlacesWithinASample) {
  const Tensor x = random_tensor({3, 5, 12}, 1);
  const Tensor y = turned(x, falling(6));
  for (std::int64_t b = 0; b < 3; ++b) {
    const Tensor alone = turned(x.range(b * 60, {1, 5, 12}), falling(6));
    expect_same_bits(y.range(b * 60, {1, 5, 12}), alone);
    expect_same_bits(alone.range(0, {12}), x.range(b * 60, {12}));
  }
}

TEST(Rotary, MatchesTheReferenceAtAnyWidth) {
  for (const std::int64_t width : {2, 6, 32, 66, 128, 130, 260}) {
    for (const std::int64_t heads : {1, 3}) {
      const Tensor x = random_tensor({2, 37, heads * width}, 1);
      const Frequencies f = falling(width);
      expect_close(turned(x, f), expected(x, f), 1e-6);
      expect_close(turned(x, f, Direction::kBackward),
                   expected(x, f, Direction::kBackward), 1e-6);
    }
  }
}

// 131,072 places: angles whose sines a reduction in fp32 would lose.
TEST(Rotary, IsAccurateAtTheEndOfALongContext) {
  const Tensor x = random_tensor({1, 131072, 2}, 1);
  expect_close(turned(x, {1.0f}), expected(x, {1.0f}), 1e-6);
}

TEST(Rotary, KeepsTheLengthOfEveryPair) {
  const Tensor x = random_tensor({1, 67, 2}, 1);
  const auto before = values_of(x), after = values_of(turned(x, {0.7f}));
  for (std::size_t i = 0; i < before.size(); i += 2)
    EXPECT_NEAR(std::hypot(after[i], after[i + 1]),
                std::hypot(before[i], before[i + 1]), 1e-6);
}

TEST(Rotary, TurnsBackWhatItTurned) {
  const Tensor x = random_tensor({2, 37, 24}, 1);
  const Tensor there = turned(x, falling(12));
  expect_close(turned(there, falling(12), Direction::kBackward), x, 1e-6);
}

TEST(Rotary, WorksInPlace) {
  Cpu cpu(2);
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Tensor x = random_tensor({2, 37, 24}, 1, dtype);
    const Tensor y = turned(x, falling(12));
    const Frequencies f = falling(12);
    rotary({.x = x, .y = x, .frequencies = f}, cpu.stream);
    expect_same_bits(x, y);
  }
}

TEST(Rotary, RoundsBf16Once) {
  const Tensor x = random_tensor({2, 37, 24}, 1, DType::kBF16);
  expect_close(turned(x, falling(12)), expected(x, falling(12)), 0.004);
}

TEST(Rotary, GivesTheSameBitsOnAnyNumberOfThreads) {
  const Tensor x = random_tensor({3, 67, 24}, 1);
  expect_same_bits(turned(x, falling(12), Direction::kForward, 3),
                   turned(x, falling(12), Direction::kForward, 1));
}

TEST(Rotary, NamesTheWidthThatDoesNotFit) {
  const std::string error = usage_error_of([] {
    turned(zeros({2, 3, 10}), falling(6));
  });
  expect_mentions(error, {"rotary", "[2, 3, 10]", "not 3"});
  usage_error_of([] { turned(zeros({2, 3, 10}), {}); });
  usage_error_of([] { turned(zeros({6, 10}), falling(10)); });
}

TEST(Rotary, ComputesNothingOnTheMetaDevice) {
  Cpu meta(2, Device::kMeta);
  const Tensor x = meta.empty(DType::kF32, {1, 2, 4});
  rotary({.x = x, .y = x, .frequencies = falling(4)}, meta.stream);
  EXPECT_EQ(meta.scratch_peak(), 0);
}

}  // namespace
}  // namespace quire::kernels
