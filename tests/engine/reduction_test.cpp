// What lanes give is added as the whole batch would give it: whatever the
// ranks, by numbers worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "quire/optim/adam.h"
#include "quire/optim/sgd.h"
#include "tests/support/rig.h"
#include "tests/support/token_loss.h"

namespace quire {
namespace {

using engine::Stage;
using engine::StepResult;
using test::Hand;
using test::LaneBatch;
using test::Rig;
using test::Trained;
using Skip = StepResult::Skip;
using Lanes = std::vector<Batch>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

engine::Options options_of(int lanes, int stage = 3) {
  engine::Options options;
  options.lanes = options.wave = lanes;
  options.stage = static_cast<Stage>(stage);
  options.groups = {.lr = 1.0};
  return options;
}

// y = w x, one number; plain descent at rate 1: w falls by the gradient.
struct OneNumber {
  explicit OneNumber(float start = 0.0f) {
    model.add<test::Times>("times", {.start = start});
  }
  Rig rig(int lanes, int ranks, int stage = 3) const {
    return {.model = &model,
            .loss = &loss,
            .optimizer = optimizer.get(),
            .options = options_of(lanes, stage),
            .ranks = ranks};
  }

  nn::Model model;
  test::SumLoss loss;
  std::unique_ptr<optim::Optimizer> optimizer = optim::sgd({});
};

Trained train_on(const Rig& rig, int steps, const Lanes& lanes) {
  return test::train(rig, steps, [&](std::int64_t, int lane) {
    return lanes[static_cast<std::size_t>(lane)];
  });
}

float gradient_of(const Rig& rig, const Lanes& lanes) {
  return -train_on(rig, 1, lanes).ledger.master("times.w")[0];
}

// The same four tokens, however they fall into lanes.
std::vector<Lanes> splits() {
  const auto of = [](const std::vector<std::vector<float>>& cut) {
    Lanes lanes;
    for (const std::vector<float>& x : cut) lanes.push_back(test::tokens(x));
    return lanes;
  };
  return {of({{9}, {1, 1, 1}}), of({{9, 1}, {1, 1}}), of({{1}, {1, 9}, {1}}),
          of({{9}, {1}, {1}, {1}}), of({{9, 1, 1, 1}})};
}

TEST(Reduction, WeighsLanesByTheirTokens) {
  const OneNumber one;
  const Lanes four = {test::tokens({2}), test::tokens({1, 2, 3}),
                      test::tokens({5, 5}), test::tokens({4, 3, 2, 1})};
  for (int stage = 0; stage <= 3; ++stage) {
    for (int ranks = 1; ranks <= 3; ++ranks) {
      for (const Lanes& split : splits()) {
        const int lanes = static_cast<int>(split.size());
        EXPECT_EQ(gradient_of(one.rig(lanes, ranks, stage), split), 3.0f);
      }
      // (2 + 6 + 10 + 10) / 10
      EXPECT_EQ(gradient_of(one.rig(4, ranks, stage), four), 2.8f);
    }
  }
}

// Neither rank 0's 9, nor the 5 that the mean of two means would be.
void expect_mean_of_all_tokens(const Lanes& split, int ranks) {
  const OneNumber one(1.0f);
  const int lanes = static_cast<int>(split.size());
  const Trained trained = train_on(one.rig(lanes, ranks), 1, split);
  EXPECT_EQ(trained.steps[0].loss, 3.0);
  EXPECT_EQ(trained.steps[0].weight, 4);
  test::run(one.rig(lanes, ranks), [&](Hand& hand) {
    const auto result = hand.engine.evaluate(
        lanes, [&](int lane) { return split[static_cast<std::size_t>(lane)]; });
    EXPECT_EQ(result.loss, 3.0);
    EXPECT_EQ(result.weight, 4);
  });
}

TEST(Reduction, GivesTheMeanLossOverAllTokens) {
  for (int ranks = 1; ranks <= 3; ++ranks)
    for (const Lanes& split : splits()) expect_mean_of_all_tokens(split, ranks);
}

TEST(Reduction, TakesNothingFromALaneWithoutTokens) {
  const OneNumber one;
  for (int ranks = 1; ranks <= 2; ++ranks) {
    const Lanes lanes = {test::tokens({9}), test::masked(3)};
    EXPECT_EQ(gradient_of(one.rig(2, ranks), lanes), 9.0f);
  }
}

TEST(Reduction, IsTheSameWithEmptyLanesInAnyPlace) {
  const OneNumber one;
  const Lanes lanes = {test::tokens({2}), test::tokens({4}), test::tokens({6}),
                       test::tokens({8}), test::masked(1),   test::masked(1)};
  for (int ranks = 1; ranks <= 3; ++ranks)
    EXPECT_EQ(gradient_of(one.rig(6, ranks), lanes), 5.0f);
}

// Momentum would go on moving what no token moves.
TEST(Reduction, SkipsAStepInWhichNothingCounts) {
  const OneNumber one(2.0f);
  const auto momentum = optim::sgd({.momentum = 0.5});
  for (int stage = 0; stage <= 3; ++stage) {
    for (int ranks = 1; ranks <= 3; ++ranks) {
      Rig rig = one.rig(2, ranks, stage);
      rig.optimizer = momentum.get();
      const Trained trained = test::train(rig, 4, [](std::int64_t step, int) {
        return step == 0 ? test::tokens({1}) : test::masked(2);
      });
      EXPECT_EQ(trained.steps[3].skip, Skip::kNoWeight);
      EXPECT_EQ(trained.steps[3].loss, 0.0);
      EXPECT_EQ(trained.ledger.master("times.w")[0], 1.0f);
      EXPECT_EQ(trained.ledger.values("momentum_buffer", "times.w")[0], 1.0f);
    }
  }
}

TEST(Reduction, GivesAnEvaluationInWhichNothingCountsTheLossZero) {
  const OneNumber one(2.0f);
  test::run(one.rig(3, 2), [](Hand& hand) {
    const auto result =
        hand.engine.evaluate(3, [](int) { return test::masked(2); });
    EXPECT_EQ(result.loss, 0.0);
    EXPECT_EQ(result.weight, 0);
  });
}

// 5 equal micro-batches in steps of 2, twice: an epoch's last step has one.
TEST(Reduction, GivesAHalfEmptyStepItsWholeGradientAndTheNextNoneOfIt) {
  const OneNumber one;
  for (int stage = 0; stage <= 3; ++stage) {
    for (int ranks = 1; ranks <= 2; ++ranks) {
      const Trained trained = test::train(
          one.rig(2, ranks, stage), 6, [](std::int64_t step, int lane) {
            return step % 3 == 2 && lane == 1 ? test::masked(1)
                                              : test::tokens({1});
          });
      for (const StepResult& step : trained.steps)
        EXPECT_EQ(step.gradient_norm, 1.0);
      EXPECT_EQ(trained.ledger.master("times.w")[0], -6.0f);
    }
  }
}

// 9 lanes are 5 and 4 of them: the mean of 1 to 9 is 5.
TEST(Reduction, TakesARankWithALaneLess) {
  const OneNumber zero, one(1.0f);
  Lanes lanes;
  for (int lane = 1; lane <= 9; ++lane)
    lanes.push_back(test::tokens({static_cast<float>(lane)}));
  for (int stage = 0; stage <= 3; ++stage) {
    for (const int wave : {1, 9}) {
      Rig rig = zero.rig(9, 2, stage);
      rig.options.wave = wave;
      EXPECT_EQ(gradient_of(rig, lanes), 5.0f);
      rig.model = &one.model;
      test::run(rig, [&](Hand& hand) {
        const auto result = hand.engine.evaluate(
            9, [&](int lane) { return lanes[static_cast<std::size_t>(lane)]; });
        EXPECT_EQ(result.loss, 5.0);
      });
    }
  }
}

// Exchanges that follow one another without anything between them.
TEST(Reduction, KeepsApartExchangesThatFollowEachOther) {
  const OneNumber one(1.0f);
  test::run(one.rig(4, 4, 0), [&](Hand& hand) {
    for (std::int64_t i = 0; i < 200; ++i) {
      const bool counts = i % 4 == 3;
      const StepResult result = test::step(hand, i, [&](int) {
        return counts ? test::tokens({0}) : test::masked(1);
      });
      EXPECT_EQ(result.skip, counts ? Skip::kNone : Skip::kNoWeight);
      EXPECT_EQ(result.weight, counts ? 4 : 0);
    }
    for (std::int64_t i = 1; i <= 200; ++i) {
      const auto result = hand.engine.evaluate(4, [&](int) {
        return test::tokens(std::vector<float>(
            static_cast<std::size_t>(1 + i % 3), static_cast<float>(i)));
      });
      EXPECT_EQ(result.loss, static_cast<double>(i));
      EXPECT_EQ(result.weight, 4 * (1 + i % 3));
    }
  });
}

TEST(Reduction, WorksAtWorldOneWithOneElement) {
  EXPECT_EQ(gradient_of(OneNumber().rig(1, 1), {test::tokens({3})}), 3.0f);
}

TEST(Reduction, LeavesReplicasOfStage0Equal) {
  const OneNumber one;
  const Lanes lanes = {test::tokens({1}), test::tokens({3})};
  for (const bool mapped : {true, false}) {
    Rig rig = one.rig(2, 2, 0);
    rig.mapped = mapped;
    test::run(rig, [&](Hand& hand) {
      for (std::int64_t i = 1; i <= 10; ++i) {
        test::step(hand, i, [&](int lane) {
          return lanes[static_cast<std::size_t>(lane)];
        });
        const auto held = hand.engine.held_state();
        ASSERT_EQ(held.size(), 1u);
        EXPECT_EQ(held[0].data.data<float>()[0], -2.0f * static_cast<float>(i));
      }
    });
  }
}

// 2^lane at lane: the sum tells which lanes are in it.
TEST(Reduction, AddsEveryLaneOnceForAnyNumberOfLanesAndRanks) {
  const OneNumber one;
  for (int lanes = 1; lanes <= 7; ++lanes) {
    Lanes batches;
    for (int lane = 0; lane < lanes; ++lane)
      batches.push_back(test::tokens(
          {static_cast<float>(lanes) * static_cast<float>(1 << lane)}));
    for (const int ranks : {1, 2, 3, 5, 8}) {
      for (const int wave : {1, 2, lanes}) {
        Rig rig = one.rig(lanes, ranks, (lanes + ranks + wave) % 4);
        rig.options.wave = wave;
        EXPECT_EQ(gradient_of(rig, batches),
                  static_cast<float>((1 << lanes) - 1))
            << lanes << " lanes on " << ranks << " ranks, waves of " << wave;
      }
    }
  }
}

// (1e8 + 1) - 1e8 in fp32 by the aligned tree: ((a + b) + (c + d)) + e.
TEST(Reduction, AddsAlongTheTreeOfLanes) {
  const OneNumber one;
  const std::vector<float> x = {1e8f, 5.0f, -1e8f, 5.0f, 5.0f};
  const float sum = ((x[0] + x[1]) + (x[2] + x[3])) + x[4];
  ASSERT_NE(sum, (((x[0] + x[1]) + x[2]) + x[3]) + x[4]);
  Lanes lanes;
  for (float value : x) lanes.push_back(test::tokens({value * 5.0f}));
  for (int ranks = 1; ranks <= 5; ++ranks)
    for (int stage = 0; stage <= 3; ++stage)
      EXPECT_EQ(gradient_of(one.rig(5, ranks, stage), lanes), sum);
}

// 1 + 2^-9 is no bf16: a leaf loses it, though its sum with another would not.
TEST(Reduction, RoundsEveryLeafToTheWireAndNoNode) {
  const OneNumber one;
  const float fine = 1.0f + 1.0f / 512.0f;
  const Lanes lanes = {test::tokens({2.0f * fine}), test::tokens({2.0f})};
  for (int stage = 0; stage <= 3; ++stage) {
    for (int ranks = 1; ranks <= 3; ++ranks) {
      Rig rig = one.rig(2, ranks, stage);
      EXPECT_EQ(gradient_of(rig, lanes), 2.0f + 1.0f / 512.0f);
      rig.options.precision.wire = DType::kBF16;
      EXPECT_EQ(gradient_of(rig, lanes), 2.0f);
      // 1 + 2^-7, a bf16, and 2: their sum is none, and stays.
      const Lanes sum = {test::tokens({2.0f + 1.0f / 64.0f}),
                         test::tokens({4.0f})};
      EXPECT_EQ(gradient_of(rig, sum), 3.0f + 1.0f / 128.0f);
    }
  }
}

void expect_skipped_and_resumed(float bad, int ranks, int stage) {
  const OneNumber one(1.0f);
  Rig rig = one.rig(3, ranks, stage);
  const auto momentum = optim::sgd({.momentum = 0.5});
  rig.optimizer = momentum.get();
  rig.options.clip_norm = 10.0;
  rig.options.schedule = {.warmup = 4};
  const Trained trained = test::train(rig, 3, [&](std::int64_t step, int lane) {
    return test::tokens({step == 1 && lane == 1 ? bad : 1.0f});
  });
  EXPECT_EQ(trained.steps[0].skip, Skip::kNone);
  EXPECT_EQ(trained.steps[1].skip, Skip::kNotFinite);
  EXPECT_EQ(trained.steps[2].skip, Skip::kNone);
  EXPECT_EQ(trained.steps[2].gradient_norm, 1.0);
  EXPECT_EQ(trained.steps[2].lr_factor, 0.5);  // the second accepted update's
  // 1 - 0.25 * 1 - 0.5 * (0.5 + 1)
  EXPECT_EQ(trained.ledger.master("times.w")[0], 0.0f);
  EXPECT_EQ(trained.ledger.values("momentum_buffer", "times.w")[0], 1.5f);
}

TEST(NonFinite, StepIsSkippedOnAllRanksAndTheNextIsNormal) {
  for (const float bad : {kNan, kInf, -kInf})
    for (int ranks = 1; ranks <= 3; ++ranks)
      for (int stage = 0; stage <= 3; ++stage)
        expect_skipped_and_resumed(bad, ranks, stage);
}

// Twice 3e38 in one token: the loss is finite, the gradient is not.
TEST(NonFinite, GradientUnderAFiniteLossIsSeen) {
  const OneNumber one(1e-30f);
  Batch twice = test::tokens({3e38f, 3e38f});
  twice.targets[0].tensor = testing::tensor_of({1.0f}, {1});
  const Trained trained = train_on(one.rig(2, 2), 1, {twice, test::masked(1)});
  EXPECT_TRUE(std::isfinite(trained.steps[0].loss));
  EXPECT_EQ(trained.steps[0].skip, Skip::kNotFinite);
  EXPECT_EQ(trained.ledger.master("times.w")[0], 1e-30f);
}

// y = x . w for x [n, width].
class Dot final : public nn::Layer {
 public:
  struct Options {
    std::int64_t width;
  };
  explicit Dot(Options options)
      : w_(*this, "w", {.shape = {1, options.width}}) {}
  nn::Values forward(const nn::Values& in) const override {
    const nn::Var& x = in.only();
    return autograd::linear(x, w_(x.tape()));
  }

 private:
  nn::Parameter w_;
};

Batch row_of(const std::vector<float>& x) {
  return {.inputs = {{"x", testing::tensor_of(
                               x, {1, static_cast<std::int64_t>(x.size())})}},
          .targets = {{"count", testing::tensor_of({1.0f}, {1})}}};
}

Trained clipped_step(float element, int ranks) {
  nn::Model model;
  model.add<Dot>("dot", {.width = 4});
  const OneNumber one;
  Rig rig = one.rig(1, ranks);
  rig.model = &model;
  rig.options.clip_norm = 1.0;
  return train_on(rig, 1, {row_of(std::vector<float>(4, element))});
}

TEST(Clipping, HoldsWhereSquaresOverflowFp32) {
  for (const int ranks : {1, 3}) {
    const Trained trained = clipped_step(1e20f, ranks);
    EXPECT_EQ(trained.steps[0].skip, Skip::kNone);
    EXPECT_NEAR(trained.steps[0].gradient_norm, 2e20, 1e13);
    for (float w : trained.ledger.master("dot.w")) EXPECT_NEAR(w, -0.5f, 1e-7);
  }
}

TEST(Clipping, LeavesTheSmallestGradientsAlone) {
  const Trained trained = clipped_step(1e-25f, 3);
  EXPECT_NEAR(trained.steps[0].gradient_norm, 2e-25, 1e-31);
  EXPECT_EQ(trained.steps[0].gradient_scale, 1.0);
  for (float w : trained.ledger.master("dot.w")) EXPECT_EQ(w, -1e-25f);
}

TEST(Clipping, ReportsTheNormBeforeIt) {
  const OneNumber one;
  Rig rig = one.rig(1, 2);
  rig.options.clip_norm = 1.0;
  const Trained trained = train_on(rig, 1, {test::tokens({5})});
  EXPECT_EQ(trained.steps[0].gradient_norm, 5.0);
  EXPECT_EQ(trained.steps[0].gradient_scale, 0.2);
  EXPECT_EQ(trained.ledger.master("times.w")[0], -1.0f);
}

TEST(Clipping, OfNoGradientAtAllDividesNothing) {
  const OneNumber one(1.0f);
  Rig rig = one.rig(1, 2);
  rig.options.clip_norm = 1.0;
  const Trained trained = train_on(rig, 1, {test::tokens({0})});
  EXPECT_EQ(trained.steps[0].skip, Skip::kNone);
  EXPECT_EQ(trained.ledger.master("times.w")[0], 1.0f);
}

// Made before the model, and stepped after a forward has run.
TEST(Optimizers, HoldNothingOfAnyModel) {
  const auto adam = optim::adamw({});
  const OneNumber one(1.0f);
  const Lanes half(2, test::tokens({0.5f}));
  for (int stage = 0; stage <= 3; ++stage) {
    Rig rig = one.rig(2, 2, stage);
    rig.optimizer = adam.get();
    rig.options.groups = {.lr = 0.1};
    test::Ledger ledger;
    test::run(rig, [&](Hand& hand) {
      const auto lane = [&](int lane) {
        return half[static_cast<std::size_t>(lane)];
      };
      EXPECT_EQ(hand.engine.evaluate(2, lane).loss, 0.5);
      test::step(hand, 0, lane);
      EXPECT_NEAR(hand.engine.evaluate(2, lane).loss, 0.45, 1e-7);
      ledger.add(hand, one.model);
    });
    EXPECT_NEAR(ledger.master("times.w")[0], 0.9f, 1e-7);
  }
}

TEST(OneElement, IsTrainedByFourRanksOfWhichThreeOwnNothing) {
  const auto adam = optim::adamw({});
  for (int stage = 0; stage <= 3; ++stage) {
    const OneNumber one(1.0f);
    Rig rig = one.rig(4, 4, stage);
    rig.optimizer = adam.get();
    rig.options.clip_norm = 1.0;
    rig.options.groups = {.lr = 0.1};
    const Lanes half(4, test::tokens({0.5f}));
    EXPECT_NEAR(train_on(rig, 1, half).ledger.master("times.w")[0], 0.9f, 1e-7);
    const Lanes back(4, test::tokens({-0.25f}));
    const Trained trained =
        test::train(rig, 2, [&](std::int64_t step, int lane) {
          return (step == 0 ? half : back)[static_cast<std::size_t>(lane)];
        });
    EXPECT_NEAR(trained.ledger.master("times.w")[0], 0.873366f, 1e-6);
    EXPECT_EQ(trained.ledger.values("exp_avg", "times.w").size(), 1u);
  }
}

}  // namespace
}  // namespace quire
