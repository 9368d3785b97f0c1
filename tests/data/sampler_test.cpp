#include "quire/data/sampler.h"

#include <algorithm>
#include <set>

#include "tests/support/token_language.h"

namespace quire::data {
namespace {

using Samples = std::vector<std::int64_t>;

Samples samples_at(const Sampler& sampler, std::int64_t begin,
                   std::int64_t end) {
  Samples samples;
  for (auto p = begin; p < end; ++p) samples.push_back(sampler.sample_at(p));
  return samples;
}

Samples sorted(Samples samples) {
  std::ranges::sort(samples);
  return samples;
}

Samples zero_to(std::int64_t count) {
  Samples samples(static_cast<std::size_t>(count));
  std::iota(samples.begin(), samples.end(), 0);
  return samples;
}

// What the lanes of `steps` steps from `first` on see, in order.
Samples seen_in(const Sampler& sampler, std::int64_t first,
                std::int64_t steps) {
  return samples_at(sampler, sampler.first_position(first, 0),
                    sampler.first_position(first + steps, 0));
}

TEST(TrainingWindows, AreTheWholeOnes) {
  EXPECT_EQ(training_windows(5, 4), 1);
  EXPECT_EQ(training_windows(8, 4), 1);
  EXPECT_EQ(training_windows(9, 4), 2);
  EXPECT_EQ(training_windows(10, 4), 2);
  EXPECT_EQ(training_windows(2, 1), 1);
}

TEST(TrainingWindows, RefuseTextsShorterThanOneSequence) {
  for (const std::int64_t tokens : {0, 1, 3, 4})
    expect_refused([&] { training_windows(tokens, 4); },
                   {std::to_string(tokens) + " tokens", "sequence of 4"});
  expect_refused([] { training_windows(9, 0); }, {"sequences of 0"});
}

TEST(Sampler, GivesLanesConsecutivePositions) {
  const Sampler sampler(
      {.samples = 100, .lanes = 4, .lane_samples = 3, .seed = 1});
  EXPECT_EQ(sampler.step_samples(), 12);
  EXPECT_EQ(sampler.first_position(0, 0), 0);
  EXPECT_EQ(sampler.first_position(0, 3), 9);
  EXPECT_EQ(sampler.first_position(1, 0), 12);
  EXPECT_EQ(sampler.first_position(7, 2), 90);
}

TEST(Sampler, SeesEverySampleOfAnEpochOnce) {
  const Sampler sampler(
      {.samples = 10, .lanes = 1, .lane_samples = 1, .seed = 1});
  for (std::int64_t epoch = 0; epoch < 3; ++epoch)
    EXPECT_EQ(sorted(samples_at(sampler, epoch * 10, epoch * 10 + 10)),
              zero_to(10));
}

TEST(Sampler, OrdersEveryEpochAnewAndReproducibly) {
  const Sampler::Options options = {
      .samples = 10, .lanes = 1, .lane_samples = 1, .seed = 1};
  const Sampler sampler(options);
  const auto first = samples_at(sampler, 0, 10);
  const auto second = samples_at(sampler, 10, 20);
  const auto third = samples_at(sampler, 20, 30);
  EXPECT_EQ((std::set<Samples>{first, second, third}).size(), 3u);
  EXPECT_EQ(samples_at(Sampler(options), 10, 20), second);
}

TEST(Sampler, OrdersDifferWithTheSeed) {
  std::set<Samples> orders;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    orders.insert(samples_at(
        Sampler({.samples = 12, .lanes = 1, .lane_samples = 1, .seed = seed}),
        0, 12));
  EXPECT_EQ(orders.size(), 8u);
}

// The order belongs to positions: cutting them into other lanes changes who
// sees a sample, not when.
TEST(Sampler, OrdersAlikeForEveryCutIntoLanes) {
  const Sampler one({.samples = 12, .lanes = 1, .lane_samples = 12, .seed = 5});
  for (const std::int64_t lanes : {2, 3, 4, 6, 12}) {
    const Sampler other(
        {.samples = 12, .lanes = lanes, .lane_samples = 12 / lanes, .seed = 5});
    EXPECT_EQ(seen_in(other, 0, 3), seen_in(one, 0, 3));
  }
}

// 5 samples in steps of 2: the third step holds the last of epoch 0 and the
// first of epoch 1, and five steps are two whole epochs.
TEST(Sampler, SpansEpochsWithoutDroppingOrRepeating) {
  const Sampler sampler(
      {.samples = 5, .lanes = 2, .lane_samples = 1, .seed = 3});
  EXPECT_EQ(sampler.epoch_of(sampler.first_position(2, 0)), 0);
  EXPECT_EQ(sampler.epoch_of(sampler.first_position(2, 1)), 1);
  const auto seen = seen_in(sampler, 0, 5);
  EXPECT_EQ(sorted({seen.begin(), seen.begin() + 5}), zero_to(5));
  EXPECT_EQ(sorted({seen.begin() + 5, seen.end()}), zero_to(5));
}

TEST(Sampler, TakesStepsLargerThanAnEpoch) {
  const Sampler sampler(
      {.samples = 2, .lanes = 3, .lane_samples = 2, .seed = 3});
  EXPECT_EQ(sorted(seen_in(sampler, 0, 1)), (Samples{0, 0, 0, 1, 1, 1}));
}

// 16 samples in steps of 4: step 4 is the first of epoch 1, step 8 of epoch 2.
TEST(Sampler, ResumesExactlyAtTheEndOfAnEpoch) {
  const Sampler::Options options = {
      .samples = 16, .lanes = 2, .lane_samples = 2, .seed = 9};
  const Sampler straight(options);
  for (const std::int64_t step : {4, 8}) {
    const Sampler resumed(options);
    EXPECT_EQ(resumed.first_position(step, 0), step * 4);
    EXPECT_EQ(resumed.epoch_of(step * 4), step / 4);
    EXPECT_EQ(resumed.epoch_of(step * 4 - 1), step / 4 - 1);
    EXPECT_EQ(sorted(seen_in(resumed, step, 4)), zero_to(16));
    EXPECT_EQ(seen_in(resumed, step, 4), seen_in(straight, step, 4));
  }
}

// 12 samples, 4 ranks of one lane each, resumed after one step by samplers of
// their own.
TEST(Sampler, RanksStayAPartitionAfterAResume) {
  const Sampler::Options options = {
      .samples = 12, .lanes = 4, .lane_samples = 1, .seed = 2};
  Samples seen = seen_in(Sampler(options), 0, 1);
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    const Sampler resumed(options);
    for (std::int64_t step = 1; step < 3; ++step)
      seen.push_back(resumed.sample_at(resumed.first_position(step, rank)));
  }
  EXPECT_EQ(sorted(seen), zero_to(12));
}

TEST(Sampler, RefusesWhatDoesNotExist) {
  const Sampler sampler(
      {.samples = 5, .lanes = 2, .lane_samples = 1, .seed = 3});
  expect_refused([&] { sampler.first_position(0, 2); }, {"lane 2", "0 to 1"});
  expect_refused([&] { sampler.first_position(0, -1); }, {"lane -1"});
  expect_refused([&] { sampler.first_position(-1, 0); }, {"step -1"});
  expect_refused([&] { sampler.first_position(INT64_MAX / 2, 0); }, {"2^63"});
  expect_refused([&] { sampler.sample_at(-1); }, {"position -1"});
  expect_refused(
      [] { Sampler({.samples = 0, .lanes = 1, .lane_samples = 1, .seed = 1}); },
      {"0 samples"});
  expect_refused(
      [] {
        Sampler(
            {.samples = 1, .lanes = INT64_MAX, .lane_samples = 2, .seed = 1});
      },
      {"2^63"});
}

}  // namespace
}  // namespace quire::data
