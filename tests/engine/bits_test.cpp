#include <gtest/gtest.h>

#include "tests/support/training.h"

namespace quire {
namespace {

using engine::Recompute;
using engine::Stage;

TEST(Bits, AreThoseOfOneRankOnAnyNumberOfRanksAtAnyStage) {
  test::Training t{.options = test::small_options(6)};
  const test::Outcome one = test::train(t);
  for (int ranks : {1, 2, 3, 5}) {
    for (Stage stage : {Stage::kNone, Stage::kOptimizer, Stage::kGradients,
                        Stage::kParameters}) {
      t.ranks = ranks;
      t.options.stage = stage;
      const test::Outcome other = test::train(t);
      EXPECT_EQ(other.state, one.state)
          << ranks << " ranks, stage " << static_cast<int>(stage);
      EXPECT_EQ(other.losses, one.losses);
      EXPECT_EQ(other.norms, one.norms);
      EXPECT_EQ(other.measured, other.predicted);
      EXPECT_EQ(other.peak_bytes, other.predicted_peak_bytes)
          << ranks << " ranks, stage " << static_cast<int>(stage);
    }
  }
}

}  // namespace
}  // namespace quire
