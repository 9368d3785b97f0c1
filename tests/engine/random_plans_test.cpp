// Plans of drawn models are proved, and keep what they say when they run.
#include <gtest/gtest.h>

#include <cmath>

#include "quire/engine/dry_run.h"
#include "quire/optim/adam.h"
#include "tests/engine/plan_language.h"
#include "tests/support/rig.h"
#include "tests/support/token_loss.h"

namespace quire::engine {
namespace {

using test::Draw;

// Three rows of features, which count as 0 to 3.
Batch batch_of(std::int64_t step, int lane) {
  constexpr std::int64_t kRows = 3;
  std::vector<float> x;
  for (int i = 0; i < kRows * test::kDrawnWidth; ++i)
    x.push_back(std::sin(static_cast<float>(i * 7 + lane * 31 + step * 113)));
  const Tensor rows = testing::tensor_of(x, {kRows, test::kDrawnWidth});
  const Tensor count =
      testing::tensor_of({static_cast<float>((lane + 1) % 4)}, {1});
  return {.inputs = {{"x", rows}}, .targets = {{"count", count}}};
}

struct Case {
  const nn::Model* model;
  PlanShape shape;
  bool mapped;
};

class DrawnRun {
 public:
  explicit DrawnRun(const Case& given) : case_(given) {}

  // The state after two steps.
  test::Ledger state() {
    test::Ledger ledger;
    const test::Rig rig = {.model = case_.model,
                           .loss = &loss_,
                           .optimizer = optimizer_.get(),
                           .options = case_.shape.options,
                           .ranks = case_.shape.ranks,
                           .mapped = case_.mapped,
                           .poison = true};
    test::run(rig, [&](test::Hand& hand) {
      for (int step = 0; step < 2; ++step)
        test::step(hand, step, [&](int lane) { return batch_of(step, lane); });
      expect_foretold(hand);
      ledger.add(hand, *case_.model);
    });
    return ledger;
  }

 private:
  void expect_foretold(test::Hand& hand) {
    EXPECT_EQ(hand.communicator.record().plan_traffic(),
              hand.engine.predicted_traffic());
    const DryRun dry = dry_run({.model = case_.model,
                                .loss = &loss_,
                                .optimizer = optimizer_.get(),
                                .options = case_.shape.options,
                                .lane = batch_of(0, 0)},
                               case_.shape.ranks, hand.rank());
    EXPECT_EQ(hand.allocator.report().total_peak, dry.memory.total_peak);
  }

  Case case_;
  test::SumLoss loss_;
  std::unique_ptr<optim::Optimizer> optimizer_ =
      optim::adamw(optim::AdamOptions());
};

PlanShape shape_to_run(Draw& draw) {
  const int lanes = draw.between(1, 7);
  PlanShape shape{.ranks = draw.between(1, 5),
                  .lanes = lanes,
                  .options = test::drawn_options(draw, lanes)};
  shape.options.prefetch = draw.between(0, 2);
  shape.options.clip_norm = 1.0;
  shape.options.groups.lr = 1e-2;
  shape.options.groups.weight_decay = 0.1;
  return shape;
}

// One rank that has everything in one wave.
Case alone(Case given) {
  given.shape.ranks = 1;
  given.shape.options.stage = Stage::kNone;
  given.shape.options.wave = given.shape.lanes;
  given.shape.options.precision.recompute = Recompute::kNone;
  return given;
}

TEST(RandomPlans, AreProvedAndRunWithTheBitsMemoryAndTrafficForetold) {
  Draw draw(21);
  for (int i = 0; i < 40 && !::testing::Test::HasFailure(); ++i) {
    const nn::Model model = test::drawn_model(draw);
    const Case drawn{&model, shape_to_run(draw), draw.chance(50)};
    const test::Plans plans = test::plans_of(model, drawn.shape, true);
    EXPECT_EQ(plans.findings(), std::vector<std::string>());
    EXPECT_TRUE(DrawnRun(drawn).state() == DrawnRun(alone(drawn)).state())
        << "model " << i << "\n"
        << plans.to_string();
  }
}

}  // namespace
}  // namespace quire::engine
