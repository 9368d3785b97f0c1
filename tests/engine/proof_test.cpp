#include "quire/engine/proof.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <utility>

#include "quire/models/mlp.h"
#include "quire/nn/layers.h"
#include "tests/support/training.h"

namespace quire::engine {
namespace {

// Draws from small ranges, the same on every machine.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : engine_(seed) {}
  int between(int low, int high) {
    return low + static_cast<int>(engine_() %
                                  static_cast<std::uint32_t>(high - low + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }

 private:
  std::mt19937 engine_;
};

// Linear layers that may be tied, repeated, frozen and joined.
nn::Model random_model(Draw& draw) {
  nn::Model model;
  const int layers = draw.between(1, 6);
  for (int i = 0; i < layers; ++i) {
    const std::string name = "l" + std::to_string(i);
    if (i > 0 && draw.chance(15)) {
      model.repeat("l0", name);
    } else {
      model.add<nn::Linear>(name, {.in = 20, .out = 20},
                            {.joins_previous = i > 0 && draw.chance(20)});
      if (i > 0 && draw.chance(20)) model.tie(name + ".weight", "l0.weight");
    }
  }
  if (draw.chance(30)) model.freeze("*.bias");
  if (layers > 1 && draw.chance(20)) model.freeze("l0.bias");
  return model;
}

Options random_options(Draw& draw) {
  Options options;
  options.stage = static_cast<Stage>(draw.between(0, 3));
  options.wave = draw.between(1, 5);
  options.prefetch = draw.between(0, 3);
  options.precision.wire = draw.chance(50) ? DType::kF32 : DType::kBF16;
  options.precision.compute = draw.chance(70) ? DType::kF32 : DType::kBF16;
  return options;
}

// All ranks' plans of one step or evaluation.
struct Ranks {
  Structure structure;
  std::vector<Plan> plans;

  std::vector<std::string> prove() const {
    return engine::prove(structure, std::span<const Plan>(plans));
  }
  Plan& rank(int r) { return plans[static_cast<std::size_t>(r)]; }
};

Ranks plans_of(const nn::Model& model, const PlanShape& shape, bool training) {
  Ranks result{Structure(model, shape.ranks), {}};
  for (int r = 0; r < shape.ranks; ++r) {
    PlanShape mine = shape;
    mine.rank = r;
    result.plans.push_back(training ? training_plan(result.structure, mine)
                                    : evaluation_plan(result.structure, mine));
  }
  return result;
}

TEST(Proof, ProvesEveryPlanThatIsBuilt) {
  Draw draw(1);
  for (int i = 0; i < 400; ++i) {
    const nn::Model model = random_model(draw);
    PlanShape shape{.ranks = draw.between(1, 6),
                    .lanes = draw.between(1, 11),
                    .options = random_options(draw)};
    shape.options.lanes = shape.lanes;
    const Ranks ranks = plans_of(model, shape, draw.chance(80));
    const std::vector<std::string> findings = ranks.prove();
    ASSERT_TRUE(findings.empty())
        << findings.front() << "\n"
        << ranks.plans.front().to_string(ranks.structure);
  }
}

// Three segments l0, l1, l2 of a unit each, two ranks, five lanes in two waves.
Ranks example(Stage stage) {
  PlanShape shape{.ranks = 2, .lanes = 5, .options = {}};
  shape.options.lanes = 5;
  shape.options.wave = 2;
  shape.options.stage = stage;
  shape.options.prefetch = 1;
  nn::Model model;
  for (const char* name : {"l0", "l1", "l2"})
    model.add<nn::Linear>(name, {.in = 20, .out = 20});
  return plans_of(model, shape, true);
}

struct Where {
  OpKind kind;
  int segment = -1;
  int unit = -1;
  int nth = 0;  // of those that fit
};

int index_of(const Plan& plan, const Where& where) {
  int left = where.nth;
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    const Op& op = plan.ops[i];
    const bool fits = op.kind == where.kind &&
                      (where.segment < 0 || op.segment == where.segment) &&
                      (where.unit < 0 || op.unit == where.unit);
    if (fits && left-- == 0) return static_cast<int>(i);
  }
  throw UsageError("no such op");
}

Op& at(Plan& plan, const Where& where) {
  return plan.ops[static_cast<std::size_t>(index_of(plan, where))];
}

// Takes an op out of a plan; what waited for it waits for nothing instead.
Op take_out(Plan& plan, int index) {
  const Op taken = plan.ops[static_cast<std::size_t>(index)];
  plan.ops.erase(plan.ops.begin() + index);
  for (Op& op : plan.ops) {
    std::erase(op.waits, index);
    for (int& wait : op.waits) wait -= wait > index ? 1 : 0;
  }
  return taken;
}

void put_in(Plan& plan, int index, Op op) {
  for (Op& other : plan.ops) {
    for (int& wait : other.waits) wait += wait >= index ? 1 : 0;
  }
  std::erase_if(op.waits, [&](int wait) { return wait >= index; });
  plan.ops.insert(plan.ops.begin() + index, std::move(op));
}

void move(Plan& plan, int from, int to) {
  Op op = take_out(plan, from);
  put_in(plan, to, std::move(op));
}

// Some line holds every one of the words.
::testing::AssertionResult refused(const Ranks& ranks,
                                   const std::vector<std::string>& words) {
  std::string all = "found only:";
  for (const std::string& line : ranks.prove()) {
    const bool fits = std::ranges::all_of(words, [&](const std::string& word) {
      return line.find(word) != std::string::npos;
    });
    if (fits) return ::testing::AssertionSuccess();
    all += "\n" + line;
  }
  return ::testing::AssertionFailure() << all;
}

TEST(Proof, RefusesARunThatDoesNotWaitForItsGather) {
  Ranks ranks = example(Stage::kParameters);
  at(ranks.rank(1), {OpKind::kForward, 1}).waits.clear();
  EXPECT_TRUE(refused(ranks, {"rank 1, forward l1", "reads unit l1",
                              "does not wait for gather l1"}));
}

TEST(Proof, RefusesARunOfAUnitThatWasNeverGathered) {
  Ranks ranks = example(Stage::kGradients);
  take_out(ranks.rank(0),
           index_of(ranks.rank(0), {OpKind::kGather, -1, /*unit=*/1}));
  EXPECT_TRUE(
      refused(ranks, {"rank 0, forward l1", "reads unit l1, which is closed"}));
}

TEST(Proof, RefusesAGatherThatDoesNotWaitForTheRelease) {
  Ranks ranks = example(Stage::kParameters);
  at(ranks.rank(0), {OpKind::kGather, -1, 1, /*nth=*/1}).waits.clear();
  EXPECT_TRUE(
      refused(ranks, {"rank 0, gather l1", "does not wait for release l1"}));
}

TEST(Proof, RefusesAGatherOfAnOpenUnit) {
  Ranks ranks = example(Stage::kParameters);
  Plan& plan = ranks.rank(0);
  const int gather = index_of(plan, {OpKind::kGather, -1, 1});
  put_in(plan, gather + 1, plan.ops[static_cast<std::size_t>(gather)]);
  EXPECT_TRUE(refused(ranks, {"gather l1", "is open since gather l1"}));
}

TEST(Proof, RefusesAReleaseBeforeItsReader) {
  Ranks ranks = example(Stage::kParameters);
  Plan& plan = ranks.rank(0);
  move(plan, index_of(plan, {OpKind::kRelease, -1, 0}),
       index_of(plan, {OpKind::kForward, 0}));
  EXPECT_TRUE(refused(ranks, {"forward l0", "reads unit l0, which is closed"}));
  EXPECT_TRUE(refused(ranks, {"release l0", "does not wait for gather l0"}));
}

TEST(Proof, RefusesASecondReleaseAndAMissingOne) {
  Ranks twice = example(Stage::kParameters);
  Plan& plan = twice.rank(0);
  const int release = index_of(plan, {OpKind::kRelease, -1, 0});
  put_in(plan, release, plan.ops[static_cast<std::size_t>(release)]);
  EXPECT_TRUE(refused(twice, {"release l0", "a unit that is closed"}));

  Ranks never = example(Stage::kParameters);
  Plan& open = never.rank(1);
  take_out(open, index_of(open, {OpKind::kRelease, -1, 0, /*nth=*/2}));
  EXPECT_TRUE(refused(never, {"rank 1, gather l0", "never released"}));
}

TEST(Proof, RefusesASlotThatIsWrittenBeforeItsReduceIsRetired) {
  Ranks ranks = example(Stage::kParameters);
  at(ranks.rank(0), {OpKind::kBackward, 1}).slot = 0;  // the turn's
  EXPECT_TRUE(refused(
      ranks, {"backward l1", "writes slot 0", "reduce l2", "not retired"}));
}

TEST(Proof, RefusesAReduceThatIsNeverRetiredOrTwice) {
  Ranks never = example(Stage::kParameters);
  Plan& plan = never.rank(0);
  take_out(plan, index_of(plan, {OpKind::kRetire, 0, -1, /*nth=*/1}));
  EXPECT_TRUE(refused(never, {"commit", "before reduce l0", "retired"}));

  Ranks twice = example(Stage::kParameters);
  Plan& other = twice.rank(0);
  const int retire = index_of(other, {OpKind::kRetire, 2});
  put_in(other, retire, other.ops[static_cast<std::size_t>(retire)]);
  EXPECT_TRUE(refused(twice, {"retire l2", "not in flight"}));
}

TEST(Proof, RefusesARetireThatDoesNotWaitForItsReduce) {
  Ranks ranks = example(Stage::kOptimizer);
  at(ranks.rank(1), {OpKind::kRetire, 1}).waits.clear();
  EXPECT_TRUE(
      refused(ranks, {"rank 1, retire l1", "does not wait for reduce l1"}));
}

TEST(Proof, RefusesAReduceThatDoesNotWaitForItsRun) {
  Ranks ranks = example(Stage::kGradients);
  at(ranks.rank(0), {OpKind::kReduce, 1}).waits.clear();
  EXPECT_TRUE(refused(ranks, {"reduce l1", "does not wait for backward l1"}));
}

TEST(Proof, RefusesAReduceBeforeTheLastLane) {
  Ranks ranks = example(Stage::kOptimizer);
  Plan& plan = ranks.rank(1);  // lanes 2, 3 and then 4
  move(plan, index_of(plan, {OpKind::kReduce, 2}),
       index_of(plan, {OpKind::kTurn, 2, -1, /*nth=*/1}));
  EXPECT_TRUE(refused(ranks, {"reduce l2", "were run"}));
  EXPECT_TRUE(refused(ranks, {"commit", "before what turn l2", "is reduced"}));
}

TEST(Proof, RefusesAGradientThatIsNeverReduced) {
  Ranks ranks = example(Stage::kNone);
  Plan& plan = ranks.rank(0);
  take_out(plan, index_of(plan, {OpKind::kRetire, 1}));
  take_out(plan, index_of(plan, {OpKind::kReduce, 1}));
  EXPECT_TRUE(refused(ranks, {"commit", "what backward l1", "is reduced"}));
}

TEST(Proof, RefusesACommitBeforeAReduce) {
  Ranks ranks = example(Stage::kParameters);
  Plan& plan = ranks.rank(0);
  move(plan, index_of(plan, {OpKind::kCommit}),
       index_of(plan, {OpKind::kReduce, 0, -1, /*nth=*/1}));
  EXPECT_TRUE(refused(ranks, {"commit", "before what backward l0"}));
  EXPECT_TRUE(refused(ranks, {"commit", "is in place"}));
}

TEST(Proof, RefusesAnUpdateThatDoesNotWaitForTheGatheredGradients) {
  Ranks ranks = example(Stage::kNone);
  at(ranks.rank(0), {OpKind::kUpdate}).waits.clear();
  EXPECT_TRUE(
      refused(ranks, {"update", "does not wait for gather gradients l0"}));
}

TEST(Proof, RefusesAMissingGatherOfGradients) {
  Ranks ranks = example(Stage::kNone);
  Plan& plan = ranks.rank(0);
  take_out(plan, index_of(plan, {OpKind::kGatherGradients, -1, 1}));
  EXPECT_TRUE(refused(ranks, {"unit l1 is never gathered"}));
}

TEST(Proof, RefusesWireBytesThatTheLanesDoNotGive) {
  Ranks ranks = example(Stage::kParameters);
  at(ranks.rank(1), {OpKind::kReduce, 1}).wire_bytes += 4;
  EXPECT_TRUE(refused(ranks, {"rank 1, reduce l1", "bytes; expected"}));
}

TEST(Proof, RefusesCollectivesInAnotherOrderOnOneRank) {
  Ranks ranks = example(Stage::kGradients);
  Plan& plan = ranks.rank(1);
  std::swap(at(plan, {OpKind::kGather, -1, 0}),
            at(plan, {OpKind::kGather, -1, 1}));
  EXPECT_TRUE(refused(ranks, {"rank 0 has gather l0", "rank 1 has gather l1"}));
}

TEST(Proof, RefusesALaneThatTwoRanksRunOrNone) {
  Ranks ranks = example(Stage::kParameters);
  for (Op& op : ranks.rank(1).ops) {
    if (op.wave == 0) op.lanes = {1, 3};  // instead of [2, 4)
  }
  EXPECT_TRUE(refused(ranks, {"lane 1 is run by 2 ranks"}));
  EXPECT_TRUE(refused(ranks, {"lane 3 is run by 0 ranks"}));
  EXPECT_TRUE(refused(ranks, {"rank 1 sends lane 1; lane 2 is due"}));
}

TEST(Proof, RefusesALaneThatMissesASegment) {
  Ranks ranks = example(Stage::kParameters);
  at(ranks.rank(0), {OpKind::kBackward, 1}).lanes = {0, 1};  // not lane 1
  EXPECT_TRUE(
      refused(ranks, {"backward l0", "lane 1", "backward of l1 is due"}));
}

TEST(Proof, RefusesAnOpThatWaitsForALaterOne) {
  Ranks ranks = example(Stage::kParameters);
  ranks.rank(0).ops[3].waits = {7};
  EXPECT_TRUE(refused(ranks, {"(op 3)", "waits for op 7"}));
}

// Every plan that differs from `good` by `change` of one op of rank 0.
void expect_all_refused(const Ranks& good,
                        const std::function<bool(Op&)>& change) {
  for (std::size_t i = 0; i < good.plans.front().ops.size(); ++i) {
    Ranks bad = good;
    if (!change(bad.rank(0).ops[i])) continue;
    EXPECT_FALSE(bad.prove().empty())
        << good.plans.front().to_string(good.structure) << "op " << i;
  }
}

TEST(Proof, RefusesEveryOpWithOtherLanesOrBytes) {
  for (Stage stage : {Stage::kNone, Stage::kOptimizer, Stage::kGradients,
                      Stage::kParameters}) {
    expect_all_refused(example(stage), [](Op& op) {
      return !op.lanes.empty() && (--op.lanes.end, true);
    });
    expect_all_refused(example(stage), [](Op& op) {
      return op.collectives > 0 && (op.wire_bytes += 64, true);
    });
    expect_all_refused(example(stage), [](Op& op) {
      return op.collectives > 0 && (op.collective_bytes += 64, true);
    });
  }
}

TEST(Proof, HoldsForPlansThatRunWithTheBitsOfOneRank) {
  Draw draw(5);
  for (int i = 0; i < 24; ++i) {
    test::Training t{.model = {.layers = draw.between(1, 3),
                               .width = 12,
                               .heads = 2,
                               .context = 8,
                               .vocab = 19,
                               .dropout = 0.1f},
                     .samples = 1,
                     .sequence = 5,
                     .steps = 2,
                     .options = test::small_options(draw.between(1, 6))};
    const test::Outcome one = test::train(t);
    const Options drawn = random_options(draw);
    t.options.stage = drawn.stage;
    t.options.wave = drawn.wave;
    t.options.prefetch = drawn.prefetch;
    if (draw.chance(40)) t.options.precision.recompute = Recompute::kLayer;
    t.ranks = draw.between(2, 4);
    t.mapped = draw.chance(50);
    const test::Outcome other = test::train(t);
    EXPECT_EQ(other.state, one.state) << "plan " << i;
    EXPECT_EQ(other.losses, one.losses);
  }
}

}  // namespace
}  // namespace quire::engine
