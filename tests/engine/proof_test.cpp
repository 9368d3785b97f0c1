#include "quire/engine/proof.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "tests/engine/plan_language.h"

namespace quire::engine {
namespace {

using test::Draw;
using test::move_op;
using test::Plans;
using test::plans_of;
using test::put_in;
using test::take_out;

TEST(Proof, ProvesEveryPlanThatIsBuilt) {
  Draw draw(1);
  for (int i = 0; i < 400; ++i) {
    const nn::Model model = test::drawn_model(draw);
    const PlanShape shape = test::drawn_shape(draw);
    const Plans plans = plans_of(model, shape, draw.chance(80));
    const std::vector<std::string> findings = plans.findings();
    ASSERT_TRUE(findings.empty()) << findings.front() << "\n"
                                  << plans.to_string();
  }
}

// Three segments l0, l1, l2 of a unit each, two ranks, five lanes in two waves.
Plans example(Stage stage) {
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

// Some line holds every one of the words.
::testing::AssertionResult refused(const Plans& ranks,
                                   const std::vector<std::string>& words) {
  std::string all = "found only:";
  for (const std::string& line : ranks.findings()) {
    const bool fits = std::ranges::all_of(words, [&](const std::string& word) {
      return line.find(word) != std::string::npos;
    });
    if (fits) return ::testing::AssertionSuccess();
    all += "\n" + line;
  }
  return ::testing::AssertionFailure() << all;
}

TEST(Proof, RefusesARunThatDoesNotWaitForItsGather) {
  Plans ranks = example(Stage::kParameters);
  at(ranks.rank(1), {OpKind::kForward, 1}).waits.clear();
  EXPECT_TRUE(refused(ranks, {"rank 1, forward l1", "reads unit l1",
                              "does not wait for gather l1"}));
}

TEST(Proof, RefusesARunOfAUnitThatWasNeverGathered) {
  Plans ranks = example(Stage::kGradients);
  take_out(ranks.rank(0),
           index_of(ranks.rank(0), {OpKind::kGather, -1, /*unit=*/1}));
  EXPECT_TRUE(
      refused(ranks, {"rank 0, forward l1", "reads unit l1, which is closed"}));
}

TEST(Proof, RefusesAGatherThatDoesNotWaitForTheRelease) {
  Plans ranks = example(Stage::kParameters);
  at(ranks.rank(0), {OpKind::kGather, -1, 1, /*nth=*/1}).waits.clear();
  EXPECT_TRUE(
      refused(ranks, {"rank 0, gather l1", "does not wait for release l1"}));
}

TEST(Proof, RefusesAGatherOfAnOpenUnit) {
  Plans ranks = example(Stage::kParameters);
  Plan& plan = ranks.rank(0);
  const int gather = index_of(plan, {OpKind::kGather, -1, 1});
  put_in(plan, gather + 1, plan.ops[static_cast<std::size_t>(gather)]);
  EXPECT_TRUE(refused(ranks, {"gather l1", "is open since gather l1"}));
}

TEST(Proof, RefusesAReleaseBeforeItsReader) {
  Plans ranks = example(Stage::kParameters);
  Plan& plan = ranks.rank(0);
  move_op(plan, index_of(plan, {OpKind::kRelease, -1, 0}),
          index_of(plan, {OpKind::kForward, 0}));
  EXPECT_TRUE(refused(ranks, {"forward l0", "reads unit l0, which is closed"}));
  EXPECT_TRUE(refused(ranks, {"release l0", "does not wait for gather l0"}));
}

TEST(Proof, RefusesASecondReleaseAndAMissingOne) {
  Plans twice = example(Stage::kParameters);
  Plan& plan = twice.rank(0);
  const int release = index_of(plan, {OpKind::kRelease, -1, 0});
  put_in(plan, release, plan.ops[static_cast<std::size_t>(release)]);
  EXPECT_TRUE(refused(twice, {"release l0", "a unit that is closed"}));

  Plans never = example(Stage::kParameters);
  Plan& open = never.rank(1);
  take_out(open, index_of(open, {OpKind::kRelease, -1, 0, /*nth=*/2}));
  EXPECT_TRUE(refused(never, {"rank 1, gather l0", "never released"}));
}

TEST(Proof, RefusesASlotThatIsWrittenBeforeItsReduceIsRetired) {
  Plans ranks = example(Stage::kParameters);
  at(ranks.rank(0), {OpKind::kBackward, 1}).slot = 0;  // the turn's
  EXPECT_TRUE(refused(
      ranks, {"backward l1", "writes slot 0", "reduce l2", "not retired"}));
}

TEST(Proof, RefusesAReduceThatIsNeverRetiredOrTwice) {
  Plans never = example(Stage::kParameters);
  Plan& plan = never.rank(0);
  take_out(plan, index_of(plan, {OpKind::kRetire, 0, -1, /*nth=*/1}));
  EXPECT_TRUE(refused(never, {"commit", "before reduce l0", "retired"}));

  Plans twice = example(Stage::kParameters);
  Plan& other = twice.rank(0);
  const int retire = index_of(other, {OpKind::kRetire, 2});
  put_in(other, retire, other.ops[static_cast<std::size_t>(retire)]);
  EXPECT_TRUE(refused(twice, {"retire l2", "not in flight"}));
}

TEST(Proof, RefusesARetireThatDoesNotWaitForItsReduce) {
  Plans ranks = example(Stage::kOptimizer);
  at(ranks.rank(1), {OpKind::kRetire, 1}).waits.clear();
  EXPECT_TRUE(
      refused(ranks, {"rank 1, retire l1", "does not wait for reduce l1"}));
}

TEST(Proof, RefusesAReduceThatDoesNotWaitForItsRun) {
  Plans ranks = example(Stage::kGradients);
  at(ranks.rank(0), {OpKind::kReduce, 1}).waits.clear();
  EXPECT_TRUE(refused(ranks, {"reduce l1", "does not wait for backward l1"}));
}

TEST(Proof, RefusesAReduceBeforeTheLastLane) {
  Plans ranks = example(Stage::kOptimizer);
  Plan& plan = ranks.rank(1);  // lanes 2, 3 and then 4
  move_op(plan, index_of(plan, {OpKind::kReduce, 2}),
          index_of(plan, {OpKind::kTurn, 2, -1, /*nth=*/1}));
  EXPECT_TRUE(refused(ranks, {"reduce l2", "were run"}));
  EXPECT_TRUE(refused(ranks, {"commit", "before what turn l2", "is reduced"}));
}

TEST(Proof, RefusesAGradientThatIsNeverReduced) {
  Plans ranks = example(Stage::kNone);
  Plan& plan = ranks.rank(0);
  take_out(plan, index_of(plan, {OpKind::kRetire, 1}));
  take_out(plan, index_of(plan, {OpKind::kReduce, 1}));
  EXPECT_TRUE(refused(ranks, {"commit", "what backward l1", "is reduced"}));
}

TEST(Proof, RefusesACommitBeforeAReduce) {
  Plans ranks = example(Stage::kParameters);
  Plan& plan = ranks.rank(0);
  move_op(plan, index_of(plan, {OpKind::kCommit}),
          index_of(plan, {OpKind::kReduce, 0, -1, /*nth=*/1}));
  EXPECT_TRUE(refused(ranks, {"commit", "before what backward l0"}));
  EXPECT_TRUE(refused(ranks, {"commit", "is in place"}));
}

TEST(Proof, RefusesAnUpdateThatDoesNotWaitForTheGatheredGradients) {
  Plans ranks = example(Stage::kNone);
  at(ranks.rank(0), {OpKind::kUpdate}).waits.clear();
  EXPECT_TRUE(
      refused(ranks, {"update", "does not wait for gather gradients l0"}));
}

TEST(Proof, RefusesAMissingGatherOfGradients) {
  Plans ranks = example(Stage::kNone);
  Plan& plan = ranks.rank(0);
  take_out(plan, index_of(plan, {OpKind::kGatherGradients, -1, 1}));
  EXPECT_TRUE(refused(ranks, {"unit l1 is never gathered"}));
}

TEST(Proof, RefusesWireBytesThatTheLanesDoNotGive) {
  Plans ranks = example(Stage::kParameters);
  at(ranks.rank(1), {OpKind::kReduce, 1}).wire_bytes += 4;
  EXPECT_TRUE(refused(ranks, {"rank 1, reduce l1", "bytes; expected"}));
}

TEST(Proof, RefusesCollectivesInAnotherOrderOnOneRank) {
  Plans ranks = example(Stage::kGradients);
  Plan& plan = ranks.rank(1);
  std::swap(at(plan, {OpKind::kGather, -1, 0}),
            at(plan, {OpKind::kGather, -1, 1}));
  EXPECT_TRUE(refused(ranks, {"rank 0 has gather l0", "rank 1 has gather l1"}));
}

TEST(Proof, RefusesALaneThatTwoRanksRunOrNone) {
  Plans ranks = example(Stage::kParameters);
  for (Op& op : ranks.rank(1).ops) {
    if (op.wave == 0) op.lanes = {1, 3};  // instead of [2, 4)
  }
  EXPECT_TRUE(refused(ranks, {"lane 1 is run by 2 ranks"}));
  EXPECT_TRUE(refused(ranks, {"lane 3 is run by 0 ranks"}));
  EXPECT_TRUE(refused(ranks, {"rank 1 sends lane 1; lane 2 is due"}));
}

TEST(Proof, RefusesALaneThatMissesASegment) {
  Plans ranks = example(Stage::kParameters);
  at(ranks.rank(0), {OpKind::kBackward, 1}).lanes = {0, 1};  // not lane 1
  EXPECT_TRUE(
      refused(ranks, {"backward l0", "lane 1", "backward of l1 is due"}));
}

TEST(Proof, RefusesAnOpThatWaitsForALaterOne) {
  Plans ranks = example(Stage::kParameters);
  ranks.rank(0).ops[3].waits = {7};
  EXPECT_TRUE(refused(ranks, {"(op 3)", "waits for op 7"}));
}

// Every plan that differs from `good` by `change` of one op of rank 0.
void expect_all_refused(const Plans& good,
                        const std::function<bool(Op&)>& change) {
  for (std::size_t i = 0; i < good.of_rank.front().ops.size(); ++i) {
    Plans bad = good;
    if (!change(bad.rank(0).ops[i])) continue;
    EXPECT_FALSE(bad.findings().empty()) << good.to_string() << "op " << i;
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

}  // namespace
}  // namespace quire::engine
