#include "quire/data/evaluation_windows.h"

#include <algorithm>

#include "tests/support/token_language.h"

namespace quire::data {
namespace {

// The targets that count, over the lanes in order.
Ids counted_targets(const EvaluationWindows& windows) {
  Ids targets;
  for (std::int64_t lane = 0; lane < windows.lanes(); ++lane) {
    std::ranges::copy_if(ids_of(windows.batch(lane).target("targets")),
                         std::back_inserter(targets),
                         [](std::int32_t id) { return id != -100; });
  }
  return targets;
}

// 8 tokens 0 ... 7, windows of 3 + 1: 0-3, 3-6, 6-7.
TEST(EvaluationWindows, MaskWhatTheTextLacks) {
  const TempFolder folder;
  const EvaluationWindows windows(
      {.tokens = counting_tokens(folder, 8), .sequence = 3, .lane_samples = 2});
  EXPECT_EQ(windows.windows(), 3);
  ASSERT_EQ(windows.lanes(), 2);
  const Batch first = windows.batch(0);
  EXPECT_EQ(ids_of(first.input("tokens")), (Ids{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(ids_of(first.target("targets")), (Ids{1, 2, 3, 4, 5, 6}));
  const Batch last = windows.batch(1);
  EXPECT_EQ(last.input("tokens").shape(), (Shape{2, 3}));
  EXPECT_EQ(ids_of(last.input("tokens")), (Ids{6, 7, 0, 0, 0, 0}));
  EXPECT_EQ(ids_of(last.target("targets")),
            (Ids{7, -100, -100, -100, -100, -100}));
}

// No window begins at the last token, which has no target.
TEST(EvaluationWindows, EndWithTheLastTarget) {
  const TempFolder folder;
  const EvaluationWindows windows(
      {.tokens = counting_tokens(folder, 7), .sequence = 3, .lane_samples = 1});
  EXPECT_EQ(windows.windows(), 2);
  EXPECT_EQ(ids_of(windows.batch(1).target("targets")), (Ids{4, 5, 6}));
}

TEST(EvaluationWindows, CountEveryTargetOnceForAllSizes) {
  const TempFolder folder;
  for (const int tokens : {2, 3, 4, 5, 7, 12, 13, 14}) {
    const auto text = counting_tokens(folder, tokens);
    for (const std::int64_t sequence : {1, 2, 3, 12, 50}) {
      for (const std::int64_t samples : {1, 2, 5}) {
        const EvaluationWindows windows(
            {.tokens = text, .sequence = sequence, .lane_samples = samples});
        EXPECT_EQ(windows.targets(), tokens - 1);
        EXPECT_EQ(counted_targets(windows), counting(1, tokens - 1));
      }
    }
  }
}

// 10 samples of one target; those with targets 1 and 2 are right: 2 of 10
// however the 4 lanes of 3 are dealt out, and the 2 missing samples are
// nobody's.
TEST(EvaluationWindows, GiveTheSameAccuracyInEveryWorld) {
  const TempFolder folder;
  const EvaluationWindows windows({.tokens = counting_tokens(folder, 11),
                                   .sequence = 1,
                                   .lane_samples = 3});
  ASSERT_EQ(windows.lanes(), 4);
  for (const std::int64_t world : {1, 2, 3, 4, 5, 8}) {
    std::int64_t right = 0, counted = 0;
    for (std::int64_t rank = 0; rank < world; ++rank) {
      for (std::int64_t lane = rank; lane < windows.lanes(); lane += world) {
        for (const auto id : ids_of(windows.batch(lane).target("targets"))) {
          counted += id == -100 ? 0 : 1;
          right += id == 1 || id == 2 ? 1 : 0;
        }
      }
    }
    EXPECT_EQ(counted, 10) << world;
    EXPECT_EQ(right, 2) << world;
  }
}

TEST(EvaluationWindows, NeedATarget) {
  const TempFolder folder;
  expect_refused(
      [&] {
        EvaluationWindows({.tokens = counting_tokens(folder, 1),
                           .sequence = 3,
                           .lane_samples = 2});
      },
      {"counting.bin", "1 token", "2 tokens"});
}

TEST(EvaluationWindows, RefuseWhatDoesNotExist) {
  const TempFolder folder;
  const auto tokens = counting_tokens(folder, 8);
  const EvaluationWindows windows(
      {.tokens = tokens, .sequence = 3, .lane_samples = 2});
  expect_refused([&] { windows.batch(2); }, {"lane 2", "0 to 1"});
  expect_refused([&] { windows.batch(-1); }, {"lane -1"});
  expect_refused(
      [&] {
        EvaluationWindows({.tokens = tokens, .sequence = 0, .lane_samples = 2});
      },
      {"counting.bin", "sequences of 0"});
}

}  // namespace
}  // namespace quire::data
