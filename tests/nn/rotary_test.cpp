#include "quire/nn/rotary.h"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>

#include "tests/support/tensors.h"

namespace quire::nn {
namespace {

using namespace quire::testing;
using Scaling = RotaryOptions::Scaling;

void expect_frequencies(const RotaryOptions& options,
                        std::vector<float> expected) {
  const auto width = 2 * std::ssize(expected);
  const auto got = rotary_frequencies(options, width);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_FLOAT_EQ(got[i], expected[i]) << i;
}

// The context of 40 is seen once by a wave of 40 tokens, 4 times by one of 10.
RotaryOptions llama3(float theta) {
  return {.theta = theta,
          .scaling = Scaling::kLlama3,
          .factor = 4.0f,
          .original_context = 40};
}

TEST(RotaryFrequencies, FallFromOneByEqualRatios) {
  expect_frequencies({}, {1.0f, 0.1f, 0.01f, 0.001f});
  expect_frequencies({.theta = 1e6f}, {1.0f, 1e-3f});
}

TEST(RotaryFrequencies, BeginWithOneForEveryHeadWidth) {
  for (const std::int64_t width : {2, 8, 12, 128})
    EXPECT_EQ(rotary_frequencies(llama3(5e5f), width)[0], 1.0f);
}

TEST(RotaryFrequencies, AreDividedByALinearFactor) {
  expect_frequencies({.scaling = Scaling::kLinear, .factor = 4.0f},
                     {0.25f, 0.0025f});
}

TEST(RotaryFrequencies, KeepShortWavesAndStretchLongOnes) {
  expect_frequencies(llama3(1e4f), {1.0f, 0.0025f});
}

// A wave of 20 tokens, seen twice: a third of the way from 1 to 4, so a
// frequency f becomes 2/3 f/4 + 1/3 f = f/2.
TEST(RotaryFrequencies, BlendTheWavesBetween) {
  const float frequency = 0.314159265f;
  expect_frequencies(llama3(1.0f / (frequency * frequency)),
                     {1.0f, frequency / 2});
}

TEST(ScaledFrequency, IsKeptBlendedOrDividedByTheWavesLength) {
  const auto of_wave = [](double tokens) {
    const double frequency = 2.0 * std::numbers::pi / tokens;
    return frequency / scaled_frequency(frequency, llama3(1e4f));
  };
  EXPECT_EQ(of_wave(9.0), 1.0);
  EXPECT_DOUBLE_EQ(of_wave(20.0), 2.0);
  EXPECT_EQ(of_wave(41.0), 4.0);
}

TEST(RotaryFrequencies, NeedAnEvenHeadWidth) {
  for (const std::int64_t width : {0, 5, -2})
    expect_mentions(usage_error_of([&] { rotary_frequencies({}, width); }),
                    {"head width of " + std::to_string(width)});
}

TEST(RotaryFrequencies, NeedOptionsThatHold) {
  const auto refused = [](const RotaryOptions& options) {
    expect_mentions(usage_error_of([&] { rotary_frequencies(options, 4); }),
                    {"rotary", "theta", "factor"});
  };
  refused({.theta = 0.0f});
  refused({.theta = std::numeric_limits<float>::quiet_NaN()});
  refused({.factor = std::numeric_limits<float>::infinity()});
  refused({.scaling = Scaling::kLlama3});  // no original context
  RotaryOptions options = llama3(1e4f);
  options.low_frequency_factor = options.high_frequency_factor;
  refused(options);
}

}  // namespace
}  // namespace quire::nn
