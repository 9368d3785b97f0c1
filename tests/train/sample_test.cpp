#include "quire/train/detail/sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "quire/core/error.h"

namespace quire::train {
namespace {

const std::vector<float> kLogits = {0.0f, std::log(3.0f), -1.0f,
                                    std::log(3.0f)};

TEST(Sample, AtTemperatureZeroTakesTheLowestOfTheLikeliest) {
  EXPECT_EQ(sample_token(kLogits, {}, 0), 1);
}

TEST(Sample, AmongOneTakesTheLikeliestAtAnyTemperature) {
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(sample_token(kLogits, {.temperature = 9, .top_k = 1}, i), 1);
}

TEST(Sample, DrawsEveryTokenAsOftenAsItsProbability) {
  const std::vector<float> logits = {0.0f, std::log(3.0f)};
  int ones = 0;
  for (int i = 0; i < 4000; ++i)
    ones += sample_token(logits, {.temperature = 1, .seed = 7}, i);
  EXPECT_NEAR(ones / 4000.0, 0.75, 0.03);
}

TEST(Sample, OfTheKLikeliestNeverDrawsAnother) {
  for (int i = 0; i < 200; ++i) {
    const auto token = sample_token(kLogits, {.temperature = 5, .top_k = 2}, i);
    EXPECT_TRUE(token == 1 || token == 3);
  }
}

TEST(Sample, RefusesLogitsThatAreNoNumbers) {
  const std::vector<float> broken = {0.0f,
                                     std::numeric_limits<float>::quiet_NaN()};
  EXPECT_THROW(sample_token(broken, {}, 3), UsageError);
}

}  // namespace
}  // namespace quire::train
