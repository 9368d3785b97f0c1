#include "quire/train/detail/together.h"

#include <gtest/gtest.h>

#include "quire/core/error.h"
#include "tests/train/run_language.h"

namespace quire::train {
namespace {

TEST(Together, HearsTheOneRankThatWishes) {
  for (const int wishing : {0, 2, 3}) {
    const bool heard = on_ranks<bool>(3, [&](comm::Communicator& communicator) {
      Together together(communicator);
      return together.any(communicator.rank() == wishing);
    });
    EXPECT_EQ(heard, wishing < 3);
  }
}

TEST(Together, TellsEveryRankWhatTheFirstFound) {
  const auto text =
      on_ranks<std::string>(3, [&](comm::Communicator& communicator) {
        Together together(communicator);
        return together.from_root(
            [&] { return "rank " + std::to_string(communicator.rank()); });
      });
  EXPECT_EQ(text, "rank 0");
}

// The memory of one exchange is written again two exchanges later.
TEST(Together, KeepsExchangesThatFollowOneAnotherApart) {
  const auto sum = on_ranks<int>(3, [&](comm::Communicator& communicator) {
    Together together(communicator);
    int sum = 0;
    for (int turn = 0; turn < 50; ++turn)
      for (const int value : together.all(turn * (communicator.rank() + 1)))
        sum += value;
    return sum;
  });
  EXPECT_EQ(sum, 6 * 49 * 50 / 2);
}

TEST(Together, IsNoPartOfThePlansTraffic) {
  const auto traffic =
      on_ranks<comm::Traffic>(2, [&](comm::Communicator& communicator) {
        Together(communicator).any(true);
        return communicator.record().plan_traffic();
      });
  EXPECT_EQ(traffic, comm::Traffic{});
}

}  // namespace
}  // namespace quire::train
