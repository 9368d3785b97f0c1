// A rank that fails in a step ends all of them, and they say which one, where.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>

#include "quire/models/mlp.h"
#include "quire/optim/sgd.h"
#include "tests/support/rig.h"
#include "tests/support/token_loss.h"

namespace quire {
namespace {

using test::Hand;
using test::Rig;

constexpr int kVictim = 2, kBadStep = 1, kRanks = 4;
constexpr double kTimeout = 10;

// Where this thread (and so a process of one) is.
thread_local int this_rank = -1;
thread_local std::int64_t this_step = -1;

enum class Trouble { kThrows, kThrowsInBackward, kIsKilled };

class Traps final : public nn::Layer {
 public:
  struct Options {
    Trouble trouble;
  };
  explicit Traps(Options options)
      : trouble_(options.trouble), w_(*this, "w", {.shape = {1, 1}}) {}
  nn::Values forward(const nn::Values& in) const override {
    const nn::Var& x = in.only();
    const nn::Var y = autograd::linear(x, w_(x.tape()));
    if (this_rank != kVictim || this_step != kBadStep) return y;
    if (trouble_ == Trouble::kIsKilled) kill(getpid(), SIGKILL);
    if (trouble_ == Trouble::kThrows)
      throw std::runtime_error("the trap has shut");
    const nn::Var inputs[] = {y};
    return x.tape().record("trap", y.value(), inputs, [](const Tensor&) {
      throw std::runtime_error("the trap has shut");
    });
  }

 private:
  Trouble trouble_;
  nn::Parameter w_;
};

struct Trapped {
  explicit Trapped(Trouble trouble) {
    model.add<test::Times>("before", {});
    model.add<Traps>("trap", {.trouble = trouble});
    model.add<test::Times>("behind", {});
  }
  Rig rig(int stage) const {
    engine::Options options;
    options.lanes = options.wave = 8;
    options.stage = static_cast<engine::Stage>(stage);
    options.groups = {.lr = 1.0};
    return {.model = &model,
            .loss = &loss,
            .optimizer = optimizer.get(),
            .options = options,
            .ranks = kRanks,
            .timeout_s = kTimeout};
  }

  nn::Model model;
  test::SumLoss loss;
  std::unique_ptr<optim::Optimizer> optimizer = optim::sgd({});
};

void train(Hand& hand) {
  this_rank = hand.rank();
  for (this_step = 0; this_step < 4; ++this_step)
    test::step(hand, this_step, [](int) { return test::tokens({1}); });
}

bool has_children() {
  return waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD;
}

void expect_named_failure(const Rig& rig, const std::string& message) {
  const auto begin = std::chrono::steady_clock::now();
  const comm::RunResult result = test::try_run(rig, train);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), kTimeout + 5);  // the promise, not a measurement
  EXPECT_EQ(result.exit_code, 3);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->rank, kVictim);
  EXPECT_EQ(result.failure->step, kBadStep);
  EXPECT_EQ(result.failure->layer, "trap");
  testing::expect_mentions(result.failure->to_string(),
                           {"rank 2", "step 1", "trap", message});
  EXPECT_FALSE(has_children());
}

TEST(Failure, OfALayerEndsAllThreadsAndIsNamed) {
  for (int stage = 0; stage <= 3; ++stage) {
    for (const bool mapped : {true, false}) {
      const Trapped trapped(Trouble::kThrows);
      Rig rig = trapped.rig(stage);
      rig.mapped = mapped;
      expect_named_failure(rig, "the trap has shut");
    }
  }
}

TEST(Failure, OfALayerEndsAllProcessesAndIsNamed) {
  for (int stage = 0; stage <= 3; ++stage) {
    const Trapped trapped(Trouble::kThrows);
    Rig rig = trapped.rig(stage);
    rig.processes = true;
    expect_named_failure(rig, "the trap has shut");
  }
}

TEST(Failure, OfABackwardIsNamedToo) {
  const Trapped trapped(Trouble::kThrowsInBackward);
  Rig rig = trapped.rig(3);
  expect_named_failure(rig, "the trap has shut");
  rig.processes = true;
  expect_named_failure(rig, "the trap has shut");
}

TEST(Failure, ByAKillEndsAllProcessesAndIsLocated) {
  for (const bool mapped : {true, false}) {
    for (const int stage : {0, 3}) {
      const Trapped trapped(Trouble::kIsKilled);
      Rig rig = trapped.rig(stage);
      rig.processes = true;
      rig.mapped = mapped;
      expect_named_failure(rig, "SIGKILL");
    }
  }
}

TEST(Failure, InTheDataOfOneRankEndsAllRanks) {
  const Trapped trapped(Trouble::kThrows);
  const comm::RunResult result = test::try_run(trapped.rig(3), [](Hand& hand) {
    hand.engine.evaluate(8, [&](int lane) {
      if (lane == 5) throw UsageError("sample 5 is not there");
      return test::tokens({1});
    });
  });
  EXPECT_EQ(result.exit_code, 2);
  ASSERT_TRUE(result.failure);
  testing::expect_mentions(result.failure->message, {"sample 5"});
}

TEST(Failure, OfARankThatEndsTooEarlyIsNoEndlessWait) {
  const Trapped trapped(Trouble::kThrows);
  const comm::RunResult result = test::try_run(trapped.rig(3), [](Hand& hand) {
    if (hand.rank() != 1) train(hand);
  });
  EXPECT_NE(result.exit_code, 0);
  ASSERT_TRUE(result.failure);
}

// A step's number of batches is checked before anything is sent.
TEST(Failure, ByAWrongNumberOfBatchesNamesWhatWasExpected) {
  const Trapped trapped(Trouble::kThrows);
  const comm::RunResult result = test::try_run(
      trapped.rig(3), [](Hand& hand) { hand.engine.step(7, {}); });
  ASSERT_TRUE(result.failure);
  testing::expect_mentions(result.failure->message,
                           {"step 7", "0 batches", "2 lanes"});
}

TEST(Failure, OfAGenerationLeavesTheEngineUsable) {
  class Refuses final : public nn::Layer {
   public:
    struct Options {};
    explicit Refuses(Options) : w_(*this, "w", {.shape = {1, 1}}) {}
    nn::Values forward(const nn::Values& in) const override {
      const nn::Var& x = in.only();
      if (x.dim(0) > 3) throw UsageError("too long");
      return autograd::linear(x, w_(x.tape()));
    }

   private:
    nn::Parameter w_;
  };
  Trapped trapped(Trouble::kThrows);
  nn::Model model;
  model.add<test::Times>("before", {.start = 1.0f});
  model.add<Refuses>("refuses", {});
  Rig rig = trapped.rig(3);
  rig.model = &model;
  test::run(rig, [](Hand& hand) {
    hand.engine.open();
    EXPECT_THROW(hand.engine.forward(test::tokens({1, 2, 3, 4})), UsageError);
    EXPECT_EQ(hand.engine.forward(test::tokens({1, 2})).dim(0), 2);
    hand.engine.close();
  });
}

// What the record tells outlives the engine.
TEST(Failure, RecordCanBeReadAfterTheEngine) {
  const Trapped trapped(Trouble::kThrows);
  const Rig rig = trapped.rig(3);
  comm::run_threads(
      2, {.timeout_s = kTimeout}, [&](comm::Communicator& communicator) {
        Allocator allocator({});
        ThreadPool pool(1);
        {
          engine::Engine engine({.model = rig.model,
                                 .loss = rig.loss,
                                 .optimizer = rig.optimizer,
                                 .options = rig.options,
                                 .communicator = &communicator,
                                 .allocator = &allocator,
                                 .pool = &pool});
          const std::vector<Batch> batches(engine.lanes().size(),
                                           test::tokens({1}));
          engine.step(0, batches);
        }
        testing::expect_mentions(communicator.record().dump(100), {"trap"});
        return 0;
      });
}

// ---- ranks that would not do the same

struct Difference {
  nn::Model model[2];  // of rank 0 and of the others
  engine::Options options[2];
};

// What rank 1 is told; nothing of the plan has been sent.
std::string refusal_of(const Difference& difference) {
  const test::SumLoss loss;
  const auto optimizer = optim::sgd({});
  std::string told;
  const comm::RunResult result = comm::run_threads(
      3, {.timeout_s = kTimeout}, [&](comm::Communicator& communicator) {
        const int which = communicator.rank() == 0 ? 0 : 1;
        Allocator allocator({});
        ThreadPool pool(1);
        try {
          engine::Engine({.model = &difference.model[which],
                          .loss = &loss,
                          .optimizer = optimizer.get(),
                          .options = difference.options[which],
                          .communicator = &communicator,
                          .allocator = &allocator,
                          .pool = &pool});
        } catch (const UsageError& error) {
          if (communicator.rank() == 1) told = error.what();
          EXPECT_EQ(communicator.record().plan_traffic().collectives, 0);
          throw;
        }
        return 0;
      });
  EXPECT_EQ(result.exit_code, 2);
  return told;
}

Difference none() {
  Difference result;
  for (int i = 0; i < 2; ++i) {
    result.model[i] = models::mlp({.widths = {7, 5, 1}});
    result.options[i].lanes = 4;
    result.options[i].groups = {.lr = 1.0};
  }
  return result;
}

TEST(Disagreement, OfLanesIsRefusedAndNamed) {
  Difference d = none();
  d.options[1].lanes = 5;
  testing::expect_mentions(refusal_of(d),
                           {"lanes 4", "lanes 5", "rank 0", "rank 1"});
}

TEST(Disagreement, OfSeedsIsRefusedAndNamed) {
  Difference d = none();
  d.options[1].seed = 9;
  testing::expect_mentions(refusal_of(d), {"seed 1", "seed 9"});
}

TEST(Disagreement, OfSizesIsRefusedThoughTheirTilesAreEqual) {
  Difference d = none();
  d.model[1] = models::mlp({.widths = {7, 6, 1}});
  testing::expect_mentions(refusal_of(d), {"layer.0", "[5, 7]", "[6, 7]"});
}

TEST(Disagreement, OfLayersIsRefusedAndNamed) {
  Difference d = none();
  d.model[1] = models::mlp({.widths = {7, 5, 5, 1}});
  testing::expect_mentions(refusal_of(d), {"layer.2"});
}

// What rank 0 would run once, the others would run three times.
TEST(Disagreement, OfTheRunsOfALayerIsRefusedAndNamed) {
  Difference d = none();
  for (nn::Model& model : d.model) {
    model = nn::Model();
    model.add<test::Times>("a", {});
    model.add<test::Times>("b", {});
  }
  d.model[1].repeat("b", "again");
  d.model[1].repeat("b", "and again");
  testing::expect_mentions(refusal_of(d),
                           {"rank 0", "unit b ", "rank 1", "unit b.w "});
}

TEST(Disagreement, OfRatesIsRefusedAndNamed) {
  Difference d = none();
  d.options[1].groups.lr = 0.5;
  testing::expect_mentions(refusal_of(d), {"lr 1", "lr 0.5"});
}

TEST(Disagreement, OfClippingIsRefusedAndNamed) {
  Difference d = none();
  d.options[1].clip_norm = 2.5;
  testing::expect_mentions(refusal_of(d), {"clip 0", "clip 2.5"});
}

TEST(Disagreement, OfFrozenParametersIsRefusedAndNamed) {
  Difference d = none();
  d.model[1].freeze("layer.0.bias");
  testing::expect_mentions(refusal_of(d), {"layer.0", "frozen"});
}

}  // namespace
}  // namespace quire
