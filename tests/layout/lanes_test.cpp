#include "quire/layout/lanes.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "quire/core/error.h"

namespace quire::layout {
namespace {

using Order = Waves::Order;
using Nodes = std::vector<Node>;
using Lanes = Run;  // a test has a Run of its own

// The tree as it is defined, written out: "((0+1)+2)".
std::string tree(int level, int index, int lanes) {
  if (level == 0) return std::to_string(index);
  const std::string left = tree(level - 1, 2 * index, lanes);
  if ((2 * index + 1) << (level - 1) >= lanes) return left;
  return "(" + left + "+" + tree(level - 1, 2 * index + 1, lanes) + ")";
}

std::string root(int lanes) { return tree(5, 0, lanes); }

// Names and sums of nodes, left to right.
struct Sums {
  Nodes nodes;
  std::vector<std::string> values;
};

Sums added(const Sums& inputs, int lanes) {
  const Merge program = merge(inputs.nodes, lanes);
  Sums sums{program.result, {}};
  for (std::size_t i = 0; i < inputs.nodes.size(); ++i) {
    sums.values.push_back(inputs.values[i]);
    for (int add = 0; add < program.adds[i]; ++add) {
      const std::string right = sums.values.back();
      sums.values.pop_back();
      sums.values.back() = "(" + sums.values.back() + "+" + right + ")";
    }
  }
  return sums;
}

Sums of_run(const Lanes& run, int lanes) {
  Sums leaves;
  for (int lane = run.begin; lane < run.end; ++lane) {
    leaves.nodes.push_back({0, lane});
    leaves.values.push_back(std::to_string(lane));
  }
  return added(leaves, lanes);
}

Sums joined(Sums left, const Sums& right) {
  left.nodes.insert(left.nodes.end(), right.nodes.begin(), right.nodes.end());
  left.values.insert(left.values.end(), right.values.begin(),
                     right.values.end());
  return left;
}

// The owner adds every wave's nodes to what is pending.
std::string wave_after_wave(const Waves& waves) {
  Sums pending;
  for (int wave = 0; wave < waves.count(); ++wave) {
    for (int rank = 0; rank < waves.ranks(); ++rank) {
      pending = joined(pending, of_run(waves.run(wave, rank), waves.lanes()));
    }
    pending = added(pending, waves.lanes());
  }
  EXPECT_EQ(pending.values.size(), 1u);
  return pending.values.front();
}

// Every rank keeps its own nodes over the waves; they are added at the end.
std::string rank_after_rank(const Waves& waves) {
  Sums all;
  for (int rank = 0; rank < waves.ranks(); ++rank) {
    Sums kept;
    for (int wave = 0; wave < waves.count(); ++wave) {
      kept = added(joined(kept, of_run(waves.run(wave, rank), waves.lanes())),
                   waves.lanes());
    }
    all = joined(all, kept);
  }
  return added(all, waves.lanes()).values.front();
}

void for_each_division(const std::function<void(int, int, int)>& fn) {
  for (int lanes = 1; lanes <= 9; ++lanes) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
      for (int width = 1; width <= 3; ++width) fn(lanes, ranks, width);
    }
  }
}

std::vector<Lanes> runs_of(const Waves& waves, int wave) {
  std::vector<Lanes> runs;
  for (int rank = 0; rank < waves.ranks(); ++rank) {
    runs.push_back(waves.run(wave, rank));
  }
  return runs;
}

TEST(Waves, AcrossRanksAreConsecutiveOverTheRanks) {
  const Waves waves(7, 2, 2, Order::kAcrossRanks);
  ASSERT_EQ(waves.count(), 2);
  EXPECT_EQ(runs_of(waves, 0), (std::vector<Lanes>{{0, 2}, {2, 4}}));
  EXPECT_EQ(runs_of(waves, 1), (std::vector<Lanes>{{4, 6}, {6, 7}}));
  EXPECT_EQ(waves.of_rank(0), (std::vector<int>{0, 1, 4, 5}));
}

TEST(Waves, AlongRanksAreConsecutiveOverTheStep) {
  const Waves waves(7, 2, 2, Order::kAlongRank);  // [0, 3) and [3, 7)
  ASSERT_EQ(waves.count(), 2);
  EXPECT_EQ(runs_of(waves, 0), (std::vector<Lanes>{{0, 2}, {3, 5}}));
  EXPECT_EQ(runs_of(waves, 1), (std::vector<Lanes>{{2, 3}, {5, 7}}));
  EXPECT_EQ(waves.of_rank(0), (std::vector<int>{0, 1, 2}));
}

TEST(Waves, LeaveRanksWithoutALaneEmpty) {
  for (const Order order : {Order::kAcrossRanks, Order::kAlongRank}) {
    const Waves waves(2, 4, 3, order);
    EXPECT_EQ(waves.count(), 1);
    EXPECT_EQ(waves.width(), 1);
    int empty = 0;
    for (const Lanes& run : runs_of(waves, 0)) empty += run.empty();
    EXPECT_EQ(empty, 2);
  }
}

TEST(Waves, AreAsWideAsARankHasLanes) {
  const Waves waves(5, 2, 100, Order::kAcrossRanks);
  EXPECT_EQ(waves.width(), 3);
  EXPECT_EQ(waves.count(), 1);
  EXPECT_EQ(Waves(5, 2, 100, Order::kAlongRank).width(), 3);
}

TEST(Waves, WorkOnEveryLaneOnceAndNeverWider) {
  for (const Order order : {Order::kAcrossRanks, Order::kAlongRank}) {
    for_each_division([&](int lanes, int ranks, int width) {
      const Waves waves(lanes, ranks, width, order);
      std::vector<int> times(lanes);
      for (int rank = 0; rank < ranks; ++rank) {
        for (const int lane : waves.of_rank(rank)) ++times.at(lane);
        for (int wave = 0; wave < waves.count(); ++wave) {
          EXPECT_LE(waves.run(wave, rank).count(), waves.width());
        }
      }
      EXPECT_EQ(times, std::vector<int>(lanes, 1));
    });
  }
}

TEST(Waves, RefuseNothingToWorkOn) {
  EXPECT_THROW(Waves(0, 1, 1, Order::kAcrossRanks), UsageError);
  EXPECT_THROW(Waves(1, 0, 1, Order::kAcrossRanks), UsageError);
  EXPECT_THROW(Waves(1, 1, 0, Order::kAlongRank), UsageError);
}

TEST(WholeNodes, AreTheLargestOfARun) {
  EXPECT_EQ(whole_nodes({0, 4}, 8), (Nodes{{2, 0}}));
  EXPECT_EQ(whole_nodes({1, 4}, 8), (Nodes{{0, 1}, {1, 1}}));
  EXPECT_EQ(whole_nodes({3, 6}, 8), (Nodes{{0, 3}, {1, 2}}));
  EXPECT_EQ(whole_nodes({2, 2}, 8), Nodes{});
}

TEST(WholeNodes, AreCalledByTheirLowestName) {
  EXPECT_EQ(whole_nodes({4, 5}, 5), (Nodes{{0, 4}}));
  EXPECT_EQ(whole_nodes({0, 5}, 5), (Nodes{{3, 0}}));
  EXPECT_EQ(whole_nodes({4, 7}, 7), (Nodes{{2, 1}}));
  EXPECT_EQ(whole_nodes({0, 1}, 1), (Nodes{{0, 0}}));
}

TEST(LanesOf, AreThoseOfTheNodeThatExist) {
  EXPECT_EQ(lanes_of({1, 1}, 8), (Lanes{2, 4}));
  EXPECT_EQ(lanes_of({2, 1}, 5), (Lanes{4, 5}));
  EXPECT_EQ(lanes_of({31, 0}, 5), (Lanes{0, 5}));
  EXPECT_THROW(lanes_of({1, 3}, 6), UsageError);
  EXPECT_THROW(lanes_of({32, 0}, 6), UsageError);
  EXPECT_THROW(lanes_of({0, -1}, 6), UsageError);
}

TEST(Merge, SaysHowOftenToAddAfterEveryInput) {
  const Merge program = merge(Nodes{{0, 0}, {0, 1}, {0, 2}, {0, 3}}, 8);
  EXPECT_EQ(program.adds, (std::vector<int>{0, 1, 0, 2}));
  EXPECT_EQ(program.result, (Nodes{{2, 0}}));
}

TEST(Merge, PassesALaneWithoutSiblingUpUnchanged) {
  const Merge program = merge(Nodes{{1, 0}, {0, 2}}, 3);
  EXPECT_EQ(program.adds, (std::vector<int>{0, 1}));
  EXPECT_EQ(program.result, (Nodes{{2, 0}}));
}

TEST(Merge, TakesANodeUnderAnyOfItsNames) {
  for (const Node& lane4 : Nodes{{0, 4}, {1, 2}, {2, 1}}) {
    EXPECT_EQ(merge(Nodes{{2, 0}, lane4}, 5).result, (Nodes{{3, 0}}));
    EXPECT_EQ(merge(Nodes{lane4}, 5).result, (Nodes{{0, 4}}));
  }
}

TEST(Merge, LeavesNeighboursThatAreNoSiblings) {
  const Merge program = merge(Nodes{{0, 1}, {0, 2}}, 4);
  EXPECT_EQ(program.adds, (std::vector<int>{0, 0}));
  EXPECT_EQ(program.result, (Nodes{{0, 1}, {0, 2}}));
}

TEST(Merge, RefusesGapsOverlapsAndLanesThatAreNotThere) {
  EXPECT_THROW(merge(Nodes{{0, 0}, {0, 2}}, 4), UsageError);
  EXPECT_THROW(merge(Nodes{{1, 0}, {0, 1}}, 4), UsageError);
  EXPECT_THROW(merge(Nodes{{0, 4}}, 4), UsageError);
  EXPECT_THROW(whole_nodes({0, 5}, 4), UsageError);
  EXPECT_THROW(whole_nodes({3, 2}, 4), UsageError);
}

TEST(Merge, LeavesTheRootOfAllLanesAlone) {
  for (int lanes = 1; lanes <= 9; ++lanes) {
    const Sums sums = of_run({0, lanes}, lanes);
    EXPECT_EQ(sums.values, (std::vector<std::string>{root(lanes)}));
    EXPECT_EQ(sums.nodes, whole_nodes({0, lanes}, lanes));
  }
  EXPECT_EQ(root(6), "(((0+1)+(2+3))+(4+5))");
}

TEST(Merge, GivesNamesUnderWhichTheTreeHasTheSum) {
  for (int lanes = 1; lanes <= 9; ++lanes) {
    for (int begin = 0; begin < lanes; ++begin) {
      for (int end = begin; end <= lanes; ++end) {
        const Sums sums = of_run({begin, end}, lanes);
        EXPECT_EQ(sums.nodes, whole_nodes({begin, end}, lanes));
        for (std::size_t i = 0; i < sums.nodes.size(); ++i) {
          const Node& node = sums.nodes[i];
          EXPECT_EQ(sums.values[i], tree(node.level, node.index, lanes));
        }
      }
    }
  }
}

TEST(Merge, AddsTheSameTreeWaveAfterWaveAcrossRanks) {
  for_each_division([](int lanes, int ranks, int width) {
    const Waves waves(lanes, ranks, width, Order::kAcrossRanks);
    EXPECT_EQ(wave_after_wave(waves), root(lanes));
  });
}

TEST(Merge, AddsTheSameTreeRankAfterRankAlongRanks) {
  for_each_division([](int lanes, int ranks, int width) {
    const Waves waves(lanes, ranks, width, Order::kAlongRank);
    EXPECT_EQ(rank_after_rank(waves), root(lanes));
  });
}

}  // namespace
}  // namespace quire::layout
