#include "quire/kernels/dropout.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/tensors.h"

namespace quire::kernels {
namespace {

using testing::Cpu;
using testing::zeros;

constexpr RandomKey kKey{.key = 42, .lane = 3, .step = 9};
constexpr std::int64_t kCount = 100000;

Tensor ones(std::int64_t n) {
  const Tensor x = zeros({n});
  std::fill(x.data<float>(), x.data<float>() + n, 1.0f);
  return x;
}

Tensor dropped(const Tensor& x, float probability, RandomKey key,
               int threads = 1) {
  Cpu cpu(threads);
  const Tensor y = testing::copy_of(x);
  dropout({.x = x, .y = y, .probability = probability, .key = key}, cpu.stream);
  return y;
}

std::int64_t kept(const Tensor& y) {
  std::int64_t count = 0;
  for (float value : testing::values_of(y)) count += value != 0 ? 1 : 0;
  return count;
}

// A count of n trials with chance p lies within 5 sqrt(n p (1 - p)).
TEST(Dropout, KeepsTheShareItShould) {
  for (float p : {0.1f, 0.5f, 0.9f}) {
    const double expected = kCount * (1.0 - p);
    const double bound = 5 * std::sqrt(kCount * p * (1.0 - p));
    const auto count = kept(dropped(ones(kCount), p, kKey));
    EXPECT_NEAR(static_cast<double>(count), expected, bound);
  }
}

TEST(Dropout, ScalesWhatItKeeps) {
  for (float value : testing::values_of(dropped(ones(1000), 0.75f, kKey))) {
    EXPECT_TRUE(value == 0.0f || value == 4.0f);
  }
}

TEST(Dropout, KeepsEverythingAtProbabilityZero) {
  const Tensor x = testing::random_tensor({1001}, 1);
  testing::expect_same_bits(dropped(x, 0, kKey), x);
}

// Kept by both of two independent masks of a half: a quarter.
void expect_independent(const RandomKey& other) {
  const Tensor once = dropped(ones(kCount), 0.5f, kKey);
  const auto both = static_cast<double>(kept(dropped(once, 0.5f, other)));
  EXPECT_NEAR(both, kCount / 4.0, 5 * std::sqrt(kCount * 0.25 * 0.75));
}

TEST(Dropout, IsIndependentBetweenKeysLanesAndSteps) {
  expect_independent({.key = 43, .lane = 3, .step = 9});
  expect_independent({.key = 42, .lane = 4, .step = 9});
  expect_independent({.key = 42, .lane = 3, .step = 10});
}

TEST(Dropout, IsIndependentBetweenNeighbours) {
  const std::vector<float> y =
      testing::values_of(dropped(ones(kCount + 4), 0.5f, kKey));
  for (std::size_t distance : {1, 2, 3, 4}) {
    std::int64_t both = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      both += y[i] != 0 && y[i + distance] != 0 ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(both), kCount / 4.0,
                6 * std::sqrt(kCount * 0.25 * 0.75));
  }
}

TEST(Dropout, DropsTheSameElementsBackward) {
  const Tensor forward = dropped(ones(5000), 0.3f, kKey);
  const Tensor x = testing::random_tensor({5000}, 1);
  const std::vector<float> backward =
      testing::values_of(dropped(x, 0.3f, kKey));
  for (std::size_t i = 0; i < backward.size(); ++i) {
    EXPECT_EQ(backward[i] != 0, forward.data<float>()[i] != 0);
  }
}

TEST(Dropout, EqualsTheReferenceAtAnyLengthAndThreads) {
  for (DType type : {DType::kF32, DType::kBF16}) {
    for (std::int64_t n : {0, 1, 3, 63, 64, 65, 40001}) {
      const Tensor x = testing::random_tensor({n}, 1, type);
      const Tensor expected = zeros({n}, type);
      Cpu cpu;
      reference::dropout(
          {.x = x, .y = expected, .probability = 0.3f, .key = kKey},
          cpu.stream);
      for (int threads : {1, 2, 3}) {
        testing::expect_same_bits(dropped(x, 0.3f, kKey, threads), expected);
      }
    }
  }
}

TEST(Dropout, RefusesAProbabilityOutsideItsRange) {
  for (float p : {-0.1f, 1.0f, std::nanf("")}) {
    const auto run = [&] { dropped(ones(3), p, kKey); };
    testing::expect_mentions(testing::usage_error_of(run), {"probability"});
  }
}

TEST(Dropout, ComputesNothingOnMeta) {
  Cpu meta(1, Device::kMeta);
  const Tensor x = meta.empty(DType::kF32, {100});
  dropout({.x = x, .y = x, .probability = 0.5f, .key = kKey}, meta.stream);
  EXPECT_EQ(meta.scratch_peak(), 0);
}

}  // namespace
}  // namespace quire::kernels
