#include "quire/data/loader.h"

#include <unistd.h>

#include <algorithm>

#include "tests/support/token_language.h"

namespace quire::data {
namespace {

Loader::Options options_over(std::shared_ptr<const TokenSet> tokens) {
  return {.tokens = std::move(tokens),
          .sequence = 4,
          .lanes = 3,
          .lane_samples = 2,
          .seed = 11};
}

Loader::Options without_prefetch(Loader::Options options) {
  options.prefetch = Loader::Prefetch::kNone;
  return options;
}

// Tokens and targets of every lane, one after the other.
Ids flat(const std::vector<Batch>& batches) {
  Ids all;
  for (const auto& batch : batches) {
    for (const auto& tensor : {batch.input("tokens"), batch.target("targets")})
      std::ranges::copy(ids_of(tensor), std::back_inserter(all));
  }
  return all;
}

Ids load(Loader& loader, std::int64_t step, const std::vector<int>& lanes) {
  return flat(loader.lanes(step, lanes));
}

// 41 tokens are 10 windows of 4 + 1; token i is i, so window s begins with 4 s.
TEST(Loader, GivesEveryLaneItsWindows) {
  const TempFolder folder;
  Loader loader(options_over(counting_tokens(folder, 41)));
  const Sampler order(
      {.samples = 10, .lanes = 3, .lane_samples = 2, .seed = 11});
  const auto batches = loader.lanes(3, std::vector<int>{2, 0});
  ASSERT_EQ(batches.size(), 2u);
  for (const auto& [batch, position] :
       {std::pair(0, 22), {0, 23}, {1, 18}, {1, 19}}) {
    const auto first = static_cast<std::int32_t>(4 * order.sample_at(position));
    const auto& lane = batches[static_cast<std::size_t>(batch)];
    const auto row = position % 2 * 4;
    EXPECT_EQ(ids_of(lane.input("tokens").range(row, 4)), counting(first, 4));
    EXPECT_EQ(ids_of(lane.target("targets").range(row, 4)),
              counting(first + 1, 4));
  }
}

TEST(Loader, SeesEveryTargetOfAnEpochOnce) {
  const TempFolder folder;
  Loader loader(options_over(counting_tokens(folder, 27)));  // 6 windows
  Ids targets;
  for (const auto& batch : loader.lanes(5, std::vector<int>{0, 1, 2}))
    std::ranges::copy(ids_of(batch.target("targets")),
                      std::back_inserter(targets));
  std::ranges::sort(targets);
  EXPECT_EQ(targets, counting(1, 24));
}

TEST(Loader, GivesTheSameWithAndWithoutPrefetch) {
  const TempFolder folder;
  const auto options = options_over(counting_tokens(folder, 41));
  Loader ahead(options), plain(without_prefetch(options));
  for (std::int64_t step = 0; step < 20; ++step)
    EXPECT_EQ(load(ahead, step, {0, 2}), load(plain, step, {0, 2})) << step;
}

// Forth, back, again, far away, and other lanes of the step that was loaded
// ahead.
TEST(Loader, NeverGivesABatchOfAnotherStep) {
  const TempFolder folder;
  const auto options = options_over(counting_tokens(folder, 41));
  Loader ahead(options), plain(without_prefetch(options));
  for (const std::int64_t step : {0, 1, 5, 6, 2, 2, 3, 1000000, 0})
    EXPECT_EQ(load(ahead, step, {1}), load(plain, step, {1})) << step;
  EXPECT_EQ(load(ahead, 1, {2, 1}), load(plain, 1, {2, 1}));
  EXPECT_EQ(load(ahead, 2, {}), Ids{});
  EXPECT_EQ(load(ahead, 3, {0}), load(plain, 3, {0}));
}

TEST(Loader, ResumesAtAnyStepFromItsFirstBatch) {
  const TempFolder folder;
  const auto options = options_over(counting_tokens(folder, 41));
  Loader straight(options);
  for (std::int64_t step = 0; step < 5; ++step) load(straight, step, {0, 1, 2});
  Loader resumed(options);
  EXPECT_EQ(load(resumed, 5, {0, 1, 2}), load(straight, 5, {0, 1, 2}));
}

// Over ranks that do not divide the lanes, too, every rank has each step.
TEST(Loader, LanesAreTheSameInEveryWorld) {
  const TempFolder folder;
  const auto options = options_over(counting_tokens(folder, 41));
  Loader whole(options), first(options), second(options), idle(options);
  for (std::int64_t step = 0; step < 4; ++step) {
    Ids parts = load(first, step, {0, 1});
    std::ranges::copy(load(second, step, {2}), std::back_inserter(parts));
    std::ranges::copy(load(idle, step, {}), std::back_inserter(parts));
    EXPECT_EQ(parts, load(whole, step, {0, 1, 2}));
  }
}

TEST(Loader, BatchesOutliveIt) {
  const TempFolder folder;
  std::vector<Batch> kept;
  {
    Loader loader(options_over(counting_tokens(folder, 6)));  // 1 window
    kept = loader.lanes(0, std::vector<int>{0});
  }
  EXPECT_EQ(ids_of(kept[0].input("tokens")), (Ids{0, 1, 2, 3, 0, 1, 2, 3}));
}

TEST(Loader, NeedsOneTokenMoreThanASequence) {
  const TempFolder folder;
  for (const int tokens : {3, 4}) {
    expect_refused(
        [&] { Loader(options_over(counting_tokens(folder, tokens))); },
        {"counting.bin", std::to_string(tokens) + " tokens"});
  }
  EXPECT_EQ(
      Loader(options_over(counting_tokens(folder, 5))).sampler().samples(), 1);
}

TEST(Loader, NamesTheFileThatFailsUnderIt) {
  const TempFolder folder;
  const auto tokens = counting_tokens(folder, 41);
  Loader loader(options_over(tokens));
  load(loader, 0, {0, 1, 2});
  ASSERT_EQ(::truncate(tokens->path().c_str(), 1024), 0);
  // Step 1 may have been loaded before the file shrank; step 2 cannot be.
  expect_refused<SystemError>(
      [&] {
        load(loader, 1, {0, 1, 2});
        load(loader, 2, {0, 1, 2});
      },
      {"counting.bin", "shorter"});
}

TEST(Loader, RefusesLanesThatDoNotExist) {
  const TempFolder folder;
  Loader loader(options_over(counting_tokens(folder, 41)));
  expect_refused([&] { load(loader, 0, {3}); }, {"lane 3", "0 to 2"});
  expect_refused([&] { load(loader, -1, {0}); }, {"step -1"});
}

}  // namespace
}  // namespace quire::data
