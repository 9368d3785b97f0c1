#include "quire/data/detail/prefetcher.h"

#include <atomic>
#include <future>

#include "quire/data/token_batch.h"
#include "tests/support/token_language.h"

namespace quire::data {
namespace {

// A batch that tells for which step it was loaded.
std::vector<Batch> marked(std::int64_t step) {
  TokenBatch batch(1, 1);
  batch.set(0, Ids{static_cast<std::int32_t>(step)});
  return {std::move(batch).finish()};
}

std::int32_t mark_of(const std::vector<Batch>& batches) {
  return ids_of(batches.at(0).input("tokens"))[0];
}

// A load that tells when it has begun and ends when it is let.
struct Gate {
  std::promise<void> begun;
  std::promise<void> open;
  std::atomic<int> loads{0};

  Prefetcher::Load load() {
    return [this](const LaneRequest& request) {
      if (++loads == 1) {
        begun.set_value();
        open.get_future().wait();
      }
      if (request.step < 0) throw SystemError("tokens.bin cannot be read");
      return marked(request.step);
    };
  }
};

TEST(Prefetcher, GivesWhatItWasAskedFor) {
  Gate gate;
  Prefetcher prefetcher(gate.load());
  prefetcher.ask({.step = 7, .lanes = {0}});
  gate.begun.get_future().wait();
  gate.open.set_value();
  const auto batches = prefetcher.take({.step = 7, .lanes = {0}});
  ASSERT_TRUE(batches.has_value());
  EXPECT_EQ(mark_of(*batches), 7);
  EXPECT_EQ(gate.loads, 1);
}

TEST(Prefetcher, HasNothingForAnyOtherRequest) {
  for (const auto& other :
       {LaneRequest{8, {0}}, LaneRequest{7, {1}}, LaneRequest{7, {0, 1}}}) {
    Gate gate;
    Prefetcher prefetcher(gate.load());
    prefetcher.ask({.step = 7, .lanes = {0}});
    gate.begun.get_future().wait();
    EXPECT_FALSE(prefetcher.take(other).has_value());  // without waiting
    gate.open.set_value();
  }
}

TEST(Prefetcher, DropsWhatAnotherTakePassedBy) {
  Gate gate;
  Prefetcher prefetcher(gate.load());
  prefetcher.ask({.step = 7, .lanes = {0}});
  gate.begun.get_future().wait();
  EXPECT_FALSE(prefetcher.take({.step = 3, .lanes = {0}}).has_value());
  gate.open.set_value();
  EXPECT_FALSE(prefetcher.take({.step = 7, .lanes = {0}}).has_value());
}

// Request 4 waits behind the stale 7, so its taker is told to load it.
TEST(Prefetcher, NeverMakesATakerWaitForAStaleLoad) {
  Gate gate;
  Prefetcher prefetcher(gate.load());
  prefetcher.ask({.step = 7, .lanes = {0}});
  gate.begun.get_future().wait();
  prefetcher.ask({.step = 4, .lanes = {0}});
  EXPECT_FALSE(prefetcher.take({.step = 4, .lanes = {0}}).has_value());
  gate.open.set_value();
}

TEST(Prefetcher, RethrowsWhereTheRequestIsTaken) {
  Gate gate;
  Prefetcher prefetcher(gate.load());
  prefetcher.ask({.step = -1, .lanes = {0}});
  gate.begun.get_future().wait();
  gate.open.set_value();
  expect_refused<SystemError>(
      [&] { prefetcher.take({.step = -1, .lanes = {0}}); }, {"tokens.bin"});
}

TEST(Prefetcher, StopsWithoutHavingBeenAsked) {
  Prefetcher prefetcher([](const LaneRequest&) { return marked(0); });
}

TEST(Prefetcher, StopsWithALoadNobodyTook) {
  Gate gate;
  Prefetcher prefetcher(gate.load());
  prefetcher.ask({.step = -1, .lanes = {0}});
  gate.open.set_value();
}

}  // namespace
}  // namespace quire::data
