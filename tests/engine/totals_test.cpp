#include "quire/engine/totals.h"

#include <gtest/gtest.h>

#include "quire/core/error.h"

namespace quire::engine {
namespace {

using Metrics = std::vector<nn::Loss::Metric>;

TEST(Totals, AreMeansOverTheWeightOfAllLanesAndRanks) {
  Totals mine, other, all;
  mine.add(1.0, Metrics{{"hits", 3.0}});
  mine.add(2.0, Metrics{{"hits", 1.0}});
  mine.weight = 4;
  other.add(0.5, Metrics{{"hits", 6.0}});
  other.weight = 1;
  all.add(mine);
  all.add(Totals());  // a rank without a lane
  all.add(other);
  ASSERT_EQ(metric_means(all).size(), 1u);
  EXPECT_EQ(metric_means(all)[0].name, "hits");
  EXPECT_EQ(metric_means(all)[0].mean, 2.0);
  EXPECT_EQ(all.loss.value(), 3.5);
}

TEST(Totals, RefuseALaneWithFewerOrMoreMetrics) {
  const Metrics two = {{"a", 1.0}, {"b", 1.0}};
  const Metrics one = {{"a", 1.0}};
  for (const auto& [first, second] : {std::pair{two, one}, {one, two}}) {
    Totals totals;
    totals.add(0.0, first);
    EXPECT_THROW(totals.add(0.0, second), UsageError);
  }
  Totals none;
  none.add(0.0, Metrics{});
  EXPECT_THROW(none.add(0.0, one), UsageError);
}

TEST(Totals, RefuseARankWithFewerOrMoreMetrics) {
  const Metrics two = {{"a", 1.0}, {"b", 1.0}};
  Totals mine, other;
  mine.add(0.0, two);
  other.add(0.0, std::span(two).first(1));
  EXPECT_THROW(Totals(mine).add(other), UsageError);
  EXPECT_THROW(Totals(other).add(mine), UsageError);
}

TEST(Totals, RefuseOtherNames) {
  Totals totals;
  totals.add(0.0, Metrics{{"hits", 1.0}});
  EXPECT_THROW(totals.add(0.0, Metrics{{"misses", 1.0}}), UsageError);
}

}  // namespace
}  // namespace quire::engine
