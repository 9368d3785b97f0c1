// What a run takes is what its plan foretold, and falls with the ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "quire/engine/dry_run.h"
#include "quire/models/gpt2.h"
#include "quire/nn/layers.h"
#include "quire/optim/adam.h"
#include "tests/support/matrix.h"
#include "tests/support/rig.h"
#include "tests/support/token_loss.h"

namespace quire {
namespace {

using engine::Stage;
using test::Hand;
using test::Outcome;
using test::Rig;
using test::Training;

class Memory : public ::testing::TestWithParam<Training> {};

TEST_P(Memory, AndTrafficAreThePredictedOnes) {
  const Outcome outcome = test::train(GetParam());
  EXPECT_EQ(outcome.peaks, outcome.predicted_peaks);
  EXPECT_EQ(outcome.measured.collectives, outcome.predicted.collectives);
  EXPECT_EQ(outcome.measured.wire_bytes, outcome.predicted.wire_bytes);
}

INSTANTIATE_TEST_SUITE_P(Pairwise, Memory,
                         ::testing::ValuesIn(test::selected_trainings()),
                         [](const auto& info) {
                           return test::name_of(info.param);
                         });

// Wide waves leave the last ranks without a lane; they hold units all the same.
TEST(MemoryOf, RanksWithoutALaneIsThePredictedOne) {
  Training t = test::reference_training();
  t.steps = 1;
  for (const int ranks : {4, 7}) {
    t.ranks = ranks;
    for (int stage = 0; stage <= 3; ++stage) {
      t.options.stage = static_cast<Stage>(stage);
      const Outcome outcome = test::train(t);
      EXPECT_EQ(outcome.peaks, outcome.predicted_peaks) << test::name_of(t);
      EXPECT_EQ(outcome.measured, outcome.predicted) << test::name_of(t);
    }
  }
}

TEST(MemoryOf, ARunWithLateCollectivesIsThePredictedOne) {
  Training t = test::reference_training();
  t.options.wave = 1;
  t.options.prefetch = 2;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    t.delays = seed;
    t.ranks = 2 + static_cast<int>(seed % 2);
    t.mapped = seed < 2;
    const Outcome outcome = test::train(t);
    EXPECT_EQ(outcome.peaks, outcome.predicted_peaks) << test::name_of(t);
  }
}

// GPT-2 with blocks large beside its embedding.
struct Blocks {
  nn::Model model = models::gpt2(kOptions);
  nn::CrossEntropy loss;
  std::unique_ptr<optim::Optimizer> optimizer = optim::adamw({});
  Training data{.model = kOptions, .samples = 1, .sequence = 8};

  static constexpr models::Gpt2Options kOptions = {
      .layers = 6, .width = 64, .heads = 4, .context = 16, .vocab = 96};

  Batch lane(std::int64_t step, int lane) const {
    return test::lane_batch(data, step, lane);
  }
  engine::Options options(int lanes, Stage stage) const {
    engine::Options options = test::small_options(lanes);
    options.wave = 1;
    options.stage = stage;
    return options;
  }
  engine::DryRunSetup setup(const engine::Options& options) const {
    return {.model = &model,
            .loss = &loss,
            .optimizer = optimizer.get(),
            .options = options,
            .lane = lane(0, 0)};
  }
  Rig rig(const engine::Options& options, int ranks) const {
    return {.model = &model,
            .loss = &loss,
            .optimizer = optimizer.get(),
            .options = options,
            .ranks = ranks};
  }
  engine::Structure structure(int ranks) const { return {model, ranks}; }
};

// Master, gradient and two moments of AdamW.
constexpr std::int64_t kStateBytes = 16;
// Between the budgets of a replica and of a quarter.
constexpr std::int64_t kBudget = 3 << 20;

TEST(MemoryBudget, RefusesAReplicaThatDoesNotFit) {
  const Blocks blocks;
  const engine::Options options = blocks.options(4, Stage::kNone);
  EXPECT_GT(blocks.model.numel() * kStateBytes, kBudget);
  EXPECT_FALSE(engine::widest_wave(blocks.setup(options), 1, kBudget));
  Rig rig = blocks.rig(options, 1);
  rig.budget_bytes = kBudget;
  const comm::RunResult result = test::try_run(rig, [&](Hand& hand) {
    test::step(hand, 0, [&](int lane) { return blocks.lane(0, lane); });
  });
  EXPECT_NE(result.exit_code, 0);
  ASSERT_TRUE(result.failure);
  testing::expect_mentions(result.failure->message,
                           {"rank 0", "optimizer", "3.0 MiB"});
}

TEST(MemoryBudget, HoldsTheSameModelShardedOverFour) {
  const Blocks blocks;
  engine::Options options = blocks.options(4, Stage::kParameters);
  const auto fit = engine::widest_wave(blocks.setup(options), 4, kBudget);
  ASSERT_TRUE(fit);
  options.wave = fit->wave;
  Rig rig = blocks.rig(options, 4);
  rig.budget_bytes = kBudget;
  test::run(rig, [&](Hand& hand) {
    test::step(hand, 0, [&](int lane) { return blocks.lane(0, lane); });
    EXPECT_EQ(hand.allocator.report().total_peak,
              fit->largest.memory.total_peak);
  });
}

TEST(MemoryBudget, TriesAllWidthsOfAWaveUntilTheyAreMany) {
  EXPECT_EQ(engine::wave_widths(7, 2), (std::vector<int>{4, 3, 2, 1}));
  const auto widths = engine::wave_widths(1000, 1);
  EXPECT_EQ(std::vector<int>(widths.begin(), widths.begin() + 9),
            (std::vector<int>{1000, 500, 250, 125, 62, 31, 16, 15, 14}));
  EXPECT_EQ(widths.back(), 1);
}

TEST(MemoryBudget, TakesTheWidestWaveThatFits) {
  const Blocks blocks;
  const engine::DryRunSetup setup =
      blocks.setup(blocks.options(12, Stage::kParameters));
  const auto all = engine::widest_wave(setup, 2, std::int64_t{1} << 40);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->wave, 6);
  const std::int64_t peak = all->largest.memory.total_peak;
  const auto narrower = engine::widest_wave(setup, 2, peak - 1);
  ASSERT_TRUE(narrower);
  EXPECT_LT(narrower->wave, 6);
  EXPECT_LE(narrower->largest.memory.total_peak, peak - 1);
}

// states / N + the two largest units, and the tied one besides, + activations.
// `kept`: nodes of the lane tree that an owner keeps between waves, each a
// share of the gradient, of which the states hold one.
std::int64_t bound(const engine::Structure& structure, std::int64_t ranks,
                   std::int64_t kept, std::int64_t activations) {
  std::vector<std::int64_t> units;
  std::int64_t tied = 0, all = 0, nodes = 0;
  for (const layout::Unit& unit : structure.units) {
    const std::int64_t bytes = unit.full() * size_of(DType::kF32);
    all += unit.full();
    if (unit.segments.size() > 1) tied += bytes;
    units.push_back(bytes);
  }
  std::ranges::sort(units, std::greater());
  for (const engine::Use& use : structure.uses())
    nodes += structure.unit(use.unit).trainable.full() * size_of(DType::kF32);
  return (all * kStateBytes + (kept - 1) * nodes) / ranks + units[0] +
         units[1] + tied + activations;
}

void expect_within_bound(const Blocks& blocks, int ranks, int lanes,
                         std::int64_t kept) {
  test::run(
      blocks.rig(blocks.options(lanes, Stage::kParameters), ranks),
      [&](Hand& hand) {
        for (int i = 0; i < 2; ++i)
          test::step(hand, i, [&](int lane) { return blocks.lane(i, lane); });
        const MemoryReport memory = hand.allocator.report();
        const std::int64_t activations =
            memory.peak[static_cast<std::size_t>(Category::kActivations)];
        EXPECT_LE(memory.total_peak,
                  bound(blocks.structure(ranks), ranks, kept, activations))
            << ranks << " ranks, " << lanes << " lanes";
      });
}

TEST(MemoryAtStage3, IsAShareOfTheStatesAndTwoUnitsAndActivations) {
  for (const int ranks : {1, 2, 4})
    expect_within_bound(Blocks(), ranks, ranks, 1);
}

TEST(MemoryAtStage3, KeepsANodeMoreForEveryDoublingOfTheWaves) {
  expect_within_bound(Blocks(), 2, 4, 1);
  expect_within_bound(Blocks(), 1, 4, 2);  // lanes 0-1 and 2, before 3 comes
}

std::int64_t current(const Hand& hand, Category category) {
  return hand.allocator.report().current[static_cast<std::size_t>(category)];
}

void expect_only_states(const Hand& hand) {
  EXPECT_EQ(current(hand, Category::kGathered), 0);
  EXPECT_EQ(current(hand, Category::kGradients), 0);
  EXPECT_EQ(current(hand, Category::kActivations), 0);
  EXPECT_EQ(current(hand, Category::kCommunication), 0);
  EXPECT_EQ(current(hand, Category::kWorkspace), 0);
}

TEST(MemoryAfter, AStepIsThatOfTheStates) {
  const Blocks blocks;
  const engine::Options options = blocks.options(5, Stage::kParameters);
  test::run(blocks.rig(options, 2), [&](Hand& hand) {
    const std::int64_t before = hand.allocator.report().total_current;
    test::step(hand, 0, [&](int lane) { return blocks.lane(0, lane); });
    expect_only_states(hand);
    EXPECT_EQ(hand.allocator.report().total_current, before);
  });
}

TEST(MemoryAfter, EvaluationsIsThatOfTheStates) {
  const Blocks blocks;
  const engine::Options options = blocks.options(4, Stage::kParameters);
  test::run(blocks.rig(options, 2), [&](Hand& hand) {
    const auto lane = [&](int lane) { return blocks.lane(0, lane); };
    hand.engine.evaluate(3, lane);
    const MemoryReport first = hand.allocator.report();
    for (int i = 0; i < 100; ++i) hand.engine.evaluate(3, lane);
    expect_only_states(hand);
    EXPECT_EQ(hand.allocator.report().total_peak, first.total_peak);
    EXPECT_EQ(hand.allocator.report().total_current, first.total_current);
  });
}

TEST(MemoryOfEvaluation, HoldsNoMoreUnitsThanThePrefetchSays) {
  const Blocks blocks;
  const engine::Options options = blocks.options(4, Stage::kParameters);
  const engine::Structure structure = blocks.structure(2);
  std::int64_t block = 0, all = 0;
  for (const layout::Unit& unit : structure.units) {
    block = std::max(block, unit.full() * size_of(DType::kF32));
    all += unit.full() * size_of(DType::kF32);
  }
  test::run(blocks.rig(options, 2), [&](Hand& hand) {
    hand.engine.evaluate(2, [&](int lane) { return blocks.lane(0, lane); });
    const std::int64_t gathered =
        hand.allocator.report()
            .peak[static_cast<std::size_t>(Category::kGathered)];
    EXPECT_LE(gathered, 2 * block);
    EXPECT_LT(gathered, all / 2);
  });
}

TEST(MemoryOfASteadyRun, AsksTheSystemForNothing) {
  const Blocks blocks;
  const engine::Options options = blocks.options(4, Stage::kParameters);
  Rig rig = blocks.rig(options, 2);
  rig.mapped = false;
  test::run(rig, [&](Hand& hand) {
    const auto train = [&](std::int64_t i) {
      test::step(hand, i, [&](int lane) { return blocks.lane(i, lane); });
    };
    for (int i = 0; i < 2; ++i) train(i);
    const std::int64_t asked = hand.allocator.system_allocations();
    for (int i = 2; i < 6; ++i) train(i);
    EXPECT_EQ(hand.allocator.system_allocations(), asked);
  });
}

// What one rank of `ranks` does in a step, from the record.
comm::Traffic traffic(const Blocks& blocks, const engine::Options& options,
                      comm::Purpose purpose) {
  comm::Traffic result;
  test::run(blocks.rig(options, 2), [&](Hand& hand) {
    test::step(hand, 0, [&](int lane) { return blocks.lane(0, lane); });
    if (hand.rank() == 0) result = hand.communicator.record().traffic(purpose);
  });
  return result;
}

// 6 blocks and the head and embedding, and the table that those share: uses.
constexpr int kOwnUnits = 8, kUses = 10;

TEST(TrafficOfAStep, OpensAUnitOnceForwardsAndOnceBackwards) {
  const Blocks blocks;
  engine::Options options = blocks.options(4, Stage::kParameters);
  options.wave = 4;
  for (const engine::Recompute recompute :
       {engine::Recompute::kNone, engine::Recompute::kLayer}) {
    options.precision.recompute = recompute;
    // Twice the embedding and a block, but once the head and the block before
    // it, which stays open over the turn; the table for every run of its users.
    EXPECT_EQ(traffic(blocks, options, comm::Purpose::kGather).collectives,
              2 * (kOwnUnits - 2) + 2 + 3);
  }
}

// But the embedding and the table, with which one ends and the next begins.
TEST(TrafficOfAStep, IsPaidForEveryWave) {
  const Blocks blocks;
  engine::Options options = blocks.options(4, Stage::kParameters);
  const auto gathers = [&] {
    return traffic(blocks, options, comm::Purpose::kGather).collectives;
  };
  const std::int64_t narrow = gathers();  // 2 waves of a lane for each of 2
  options.wave = 2;
  EXPECT_EQ(narrow, 2 * gathers() - 2);
}

TEST(TrafficOfAStep, ReducesOnceAStepAtStage1AndOnceAWaveAtStage2) {
  const Blocks blocks;
  const auto reduces = [&](Stage stage) {
    return traffic(blocks, blocks.options(4, stage), comm::Purpose::kReduce)
        .collectives;
  };
  EXPECT_EQ(reduces(Stage::kOptimizer), kUses);
  EXPECT_EQ(reduces(Stage::kGradients), 2 * kUses);
}

TEST(TrafficOfAStep, IsInWaveNodesAndInLeavesTheFewerBytes) {
  const Blocks blocks;
  engine::Options options = blocks.options(4, Stage::kParameters);
  const auto bytes = [&] {
    return traffic(blocks, options, comm::Purpose::kReduce).wire_bytes;
  };
  const std::int64_t leaves = bytes();
  options.wave = 2;  // lanes 0 and 1 travel as one node
  EXPECT_EQ(leaves, 2 * bytes());
}

TEST(TrafficOfAStep, IsHalfForLeavesOfBf16AndWholeForNodes) {
  const Blocks blocks;
  engine::Options options = blocks.options(4, Stage::kParameters);
  const auto bytes = [&](DType wire) {
    options.precision.wire = wire;
    return traffic(blocks, options, comm::Purpose::kReduce).wire_bytes;
  };
  EXPECT_EQ(bytes(DType::kF32), 2 * bytes(DType::kBF16));
  options.wave = 2;
  EXPECT_EQ(bytes(DType::kF32), bytes(DType::kBF16));
}

}  // namespace
}  // namespace quire
