// Models of every shape: tied, repeated, joined and frozen layers, and units
// of any size.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "quire/models/mlp.h"
#include "quire/nn/layers.h"
#include "quire/optim/adam.h"
#include "quire/optim/sgd.h"
#include "tests/support/rig.h"
#include "tests/support/token_loss.h"

namespace quire {
namespace {

using engine::Stage;
using test::Hand;
using test::Rig;
using test::Trained;
using testing::tensor_of;

// Everything around a model: losses are sums, descent is plain at rate 1.
struct Bench {
  nn::Model model;
  test::SumLoss loss;
  std::unique_ptr<optim::Optimizer> optimizer = optim::sgd({});

  Rig rig(int lanes, int ranks, int stage = 3) const {
    engine::Options options;
    options.lanes = options.wave = lanes;
    options.stage = static_cast<Stage>(stage);
    options.groups = {.lr = 1.0};
    return {.model = &model,
            .loss = &loss,
            .optimizer = optimizer.get(),
            .options = options,
            .ranks = ranks};
  }
};

Trained train_on(const Rig& rig, const std::vector<float>& x, int steps = 1) {
  return test::train(rig, steps, [&](std::int64_t, int lane) {
    return test::tokens({x[static_cast<std::size_t>(lane)]});
  });
}

template <class Fn>
void for_all_shards(const Fn& fn) {
  for (int stage = 0; stage <= 3; ++stage) {
    for (int ranks = 1; ranks <= 3; ++ranks) {
      SCOPED_TRACE(std::to_string(ranks) + " ranks at stage " +
                   std::to_string(stage));
      fn(ranks, stage);
    }
  }
}

// Passes x on and adds factor * w * x to "sum".
class Adds final : public nn::Layer {
 public:
  struct Options {
    float factor;
    float start = 0.0f;
  };
  explicit Adds(Options options)
      : factor_(options.factor),
        w_(*this, "w", {.shape = {1, 1}, .init = nn::constant(options.start)}) {
  }
  nn::Values forward(const nn::Values& in) const override {
    const nn::Var x = in["x"];
    const nn::Var y =
        autograd::scale(autograd::linear(x, w_(x.tape())), factor_);
    const bool first = in.size() == 1;
    return in.with("sum", first ? y : in["sum"] + y);
  }

 private:
  float factor_;
  nn::Parameter w_;
};
class TakesSum final : public nn::Layer {
 public:
  struct Options {};
  explicit TakesSum(Options) {}
  nn::Values forward(const nn::Values& in) const override { return in["sum"]; }
};

// Gradient 1 from the first use and 2 from the second.
TEST(TiedParameter, GetsTheGradientsOfAllItsUses) {
  Bench bench;
  bench.model.add<Adds>("in", {.factor = 1.0f});
  bench.model.add<Adds>("between", {.factor = 10.0f});
  bench.model.add<Adds>("out", {.factor = 2.0f});
  bench.model.add<TakesSum>("sum", {});
  bench.model.tie("out.w", "in.w");
  EXPECT_EQ(bench.model.find("out.w"), bench.model.find("in.w"));
  EXPECT_EQ(bench.model.numel(), 2);
  for_all_shards([&](int ranks, int stage) {
    const Trained trained = train_on(bench.rig(3, ranks, stage), {1, 1, 1}, 2);
    EXPECT_EQ(trained.ledger.master("in.w")[0], -6.0f);
    EXPECT_EQ(trained.ledger.master("between.w")[0], -20.0f);
    EXPECT_EQ(trained.ledger.names(),
              (std::vector<std::string>{"master:between.w", "master:in.w"}));
  });
}

TEST(TiedParameter, StaysOneOverManyWaves) {
  Bench bench;
  bench.model.add<Adds>("in", {.factor = 1.0f});
  bench.model.add<Adds>("out", {.factor = 2.0f});
  bench.model.add<TakesSum>("sum", {}, {.joins_previous = true});
  bench.model.tie("out.w", "in.w");
  for_all_shards([&](int ranks, int stage) {
    Rig rig = bench.rig(5, ranks, stage);
    rig.options.wave = 1;
    const Trained trained = train_on(rig, {1, 2, 3, 4, 5});
    EXPECT_EQ(trained.ledger.master("in.w")[0], -9.0f);  // 3 * 15 / 5
  });
}

// Both contributions fall into one row of gradients.
TEST(TiedParameter, MayBeUsedTwiceInOneUnit) {
  Bench bench;
  bench.model.add<Adds>("in", {.factor = 1.0f});
  bench.model.add<Adds>("out", {.factor = 2.0f}, {.joins_previous = true});
  bench.model.add<TakesSum>("sum", {});
  bench.model.tie("out.w", "in.w");
  for_all_shards([&](int ranks, int stage) {
    const Trained trained = train_on(bench.rig(3, ranks, stage), {1, 2, 3});
    EXPECT_EQ(trained.ledger.master("in.w")[0], -6.0f);
  });
}

// A parameter that a lane's loss does not depend on has gradient zero.
class Ignores final : public nn::Layer {
 public:
  struct Options {};
  explicit Ignores(Options)
      : w_(*this, "w", {.shape = {1, 1}}),
        unused_(*this, "unused", {.shape = {3}, .init = nn::constant(5.0f)}) {}
  nn::Values forward(const nn::Values& in) const override {
    const nn::Var& x = in.only();
    return autograd::linear(x, w_(x.tape()));
  }

 private:
  nn::Parameter w_, unused_;
};

TEST(UnusedParameter, StaysAsItIs) {
  Bench bench;
  bench.model.add<Ignores>("ignores", {});
  for_all_shards([&](int ranks, int stage) {
    Rig rig = bench.rig(2, ranks, stage);
    rig.poison = true;
    rig.mapped = false;  // else rows are no memory of the poisoned heap
    const Trained trained = train_on(rig, {4, 4}, 2);
    EXPECT_EQ(trained.steps[1].gradient_norm, 4.0);
    EXPECT_EQ(trained.ledger.master("ignores.w")[0], -8.0f);
    EXPECT_EQ(trained.ledger.master("ignores.unused"),
              std::vector<float>(3, 5.0f));
  });
}

// w x w: d/dw = 2 w x.
TEST(RepeatedLayer, IsTrainedByBothItsPlaces) {
  Bench bench;
  bench.model.add<test::Times>("times", {.start = 3.0f});
  bench.model.repeat("times", "again");
  for_all_shards([&](int ranks, int stage) {
    const Trained trained = train_on(bench.rig(2, ranks, stage), {1, 1});
    EXPECT_EQ(trained.steps[0].loss, 9.0);
    EXPECT_EQ(trained.ledger.master("times.w")[0], -3.0f);
  });
}

// a (b (a x)): d/da = 2 a b x, d/db = a a x.
TEST(RepeatedLayer, MayHaveOthersBetween) {
  Bench bench;
  bench.model.add<test::Times>("a", {.start = 3.0f});
  bench.model.add<test::Times>("b", {.start = 0.5f});
  bench.model.repeat("a", "again");
  for_all_shards([&](int ranks, int stage) {
    for (int prefetch = 0; prefetch <= 2; ++prefetch) {
      Rig rig = bench.rig(2, ranks, stage);
      rig.options.prefetch = prefetch;
      const Trained trained = train_on(rig, {1, 1});
      EXPECT_EQ(trained.ledger.master("a.w")[0], 0.0f);
      EXPECT_EQ(trained.ledger.master("b.w")[0], -8.5f);
    }
  });
}

nn::Model layers_of(nn::Model::Placement placement) {
  nn::Model model;
  model.add<nn::Linear>("a", {.in = 7, .out = 33});
  model.add<nn::LayerNorm>("norm", {.width = 33}, placement);
  model.add<nn::Linear>("b", {.in = 33, .out = 19}, placement);
  model.add<nn::Linear>("c", {.in = 19, .out = 1});
  return model;
}

Batch random_lane(std::int64_t step, int lane) {
  const auto key = static_cast<std::uint64_t>(100 * step + lane + 1);
  return {.inputs = {{"x", testing::random_tensor({5, 7}, key)}},
          .targets = {{"count", tensor_of({5.0f}, {1})}}};
}

TEST(JoinedLayers, HaveTheBitsOfSeparateOnesWithFewerCollectives) {
  Bench apart, joined;
  apart.model = layers_of({});
  joined.model = layers_of({.joins_previous = true});
  const Trained expected = test::train(apart.rig(3, 1), 2, random_lane);
  for_all_shards([&](int ranks, int stage) {
    const Rig rig = joined.rig(3, ranks, stage);
    EXPECT_EQ(test::train(rig, 2, random_lane).ledger, expected.ledger);
  });
  const auto collectives = [](const Bench& bench) {
    std::int64_t result = 0;
    test::run(bench.rig(3, 2), [&](Hand& hand) {
      if (hand.rank() == 0) result = hand.engine.plan().traffic().collectives;
    });
    return result;
  };
  EXPECT_EQ(collectives(joined), collectives(apart) - 2 * (2 + 1));
}

TEST(UnitsOfAnySize, HaveTheBitsOfOneRank) {
  for (const std::int64_t width : {1, 2, 3, 5, 6, 7, 255, 256, 257, 700}) {
    Bench bench;
    bench.model = models::mlp({.widths = {7, width, 1}});
    const Trained one = test::train(bench.rig(3, 1, 0), 2, random_lane);
    for (const int ranks : {2, 3, 8}) {
      const Trained many = test::train(bench.rig(3, ranks), 2, random_lane);
      EXPECT_EQ(many.ledger, one.ledger) << width << " on " << ranks;
    }
  }
}

TEST(UnitsOfAnySize, HoldEveryElementOnce) {
  Bench bench;
  bench.model = models::mlp({.widths = {7, 3, 5, 1}});
  for (int ranks = 1; ranks <= 8; ++ranks) {
    const Trained trained = test::train(bench.rig(2, ranks), 1, random_lane);
    EXPECT_EQ(trained.ledger.master("layer.0.weight").size(), 21u);
    EXPECT_EQ(trained.ledger.master("layer.1.weight").size(), 15u);
    EXPECT_EQ(trained.ledger.master("layer.2.bias").size(), 1u);
  }
}

// ---- frozen parameters

// One unit with a frozen matrix and a trained bias, then one all frozen.
Bench half_frozen() {
  Bench bench;
  bench.optimizer = optim::adamw({});
  bench.model.add<nn::Linear>("first", {.in = 7, .out = 4});
  bench.model.add<nn::Linear>("middle", {.in = 4, .out = 4});
  bench.model.add<nn::Linear>("last", {.in = 4, .out = 1});
  bench.model.freeze("*.weight");
  bench.model.freeze("middle.*");
  return bench;
}

TEST(Frozen, ParametersKeepTheirBitsAndOthersTrain) {
  const Bench bench = half_frozen();
  const Trained none = test::train(bench.rig(3, 1, 0), 0, random_lane);
  const Trained one = test::train(bench.rig(3, 1, 0), 3, random_lane);
  for (const std::string name :
       {"first.weight", "middle.weight", "middle.bias", "last.weight"}) {
    EXPECT_EQ(one.ledger.values("value", name),
              none.ledger.values("value", name));
  }
  EXPECT_NE(one.ledger.master("first.bias"), none.ledger.master("first.bias"));
  for_all_shards([&](int ranks, int stage) {
    for (const engine::Recompute recompute :
         {engine::Recompute::kNone, engine::Recompute::kLayer}) {
      Rig rig = bench.rig(3, ranks, stage);
      rig.options.precision.recompute = recompute;
      EXPECT_EQ(test::train(rig, 3, random_lane).ledger, one.ledger);
    }
  });
}

TEST(Frozen, ParametersOfBf16KeepTheirBitsToo) {
  const Bench bench = half_frozen();
  const auto rig = [&](int ranks, int stage) {
    Rig rig = bench.rig(3, ranks, stage);
    rig.options.precision.compute = DType::kBF16;
    return rig;
  };
  const Trained one = test::train(rig(1, 0), 2, random_lane);
  for_all_shards([&](int ranks, int stage) {
    EXPECT_EQ(test::train(rig(ranks, stage), 2, random_lane).ledger,
              one.ledger);
  });
}

TEST(Frozen, ParametersHaveNoStateAndNoGradient) {
  const Bench bench = half_frozen();
  test::run(bench.rig(1, 1), [&](Hand& hand) {
    test::step(hand, 0, [](int lane) { return random_lane(0, lane); });
    const MemoryReport report = hand.allocator.report();
    const auto peak = [&](Category category) {
      return report.peak[static_cast<std::size_t>(category)];
    };
    const std::int64_t tile = kTile * size_of(DType::kF32);  // of each bias
    EXPECT_EQ(peak(Category::kOptimizer), 2 * 2 * tile);
    EXPECT_EQ(peak(Category::kParameters), 6 * tile);
    EXPECT_LE(peak(Category::kGradients), 2 * 3 * tile);
    std::vector<std::string> kinds;
    for (const auto& range : hand.engine.owned_state())
      kinds.push_back(range.kind);
    EXPECT_EQ(std::ranges::count(kinds, "value"), 4);
    EXPECT_EQ(std::ranges::count(kinds, "exp_avg"), 2);
  });
}

// d/db of the last bias is 1, of a weight it would be more.
TEST(Frozen, ParametersAreNoPartOfTheNorm) {
  Bench bench;
  bench.model.add<nn::Linear>("only", {.in = 7, .out = 1});
  bench.model.freeze("only.weight");
  const Trained trained = test::train(bench.rig(2, 2), 1, random_lane);
  EXPECT_EQ(trained.steps[0].gradient_norm, 1.0);
}

// Both rows of 6 units: once forwards, and at most once more backwards.
TEST(Frozen, RowsAreGatheredTwiceAStepWhateverIsRecomputed) {
  Bench bench;
  for (const std::string name : {"a", "b", "c", "d", "e"})
    bench.model.add<nn::Linear>(name, {.in = 7, .out = 7});
  bench.model.add<nn::Linear>("f", {.in = 7, .out = 1});
  bench.model.freeze("*.weight");
  for (const engine::Recompute recompute :
       {engine::Recompute::kNone, engine::Recompute::kLayer}) {
    Rig rig = bench.rig(2, 2);
    rig.options.precision.recompute = recompute;
    test::run(rig, [](Hand& hand) {
      test::step(hand, 0, [](int lane) { return random_lane(0, lane); });
      const comm::Record& record = hand.communicator.record();
      EXPECT_LE(record.traffic(comm::Purpose::kGather).collectives, 2 * 6 * 2);
    });
  }
}

TEST(Frozen, FirstLayersAreRunForwardsOnly) {
  Bench bench;
  bench.model.add<nn::Linear>("a", {.in = 7, .out = 4});
  bench.model.add<nn::Linear>("b", {.in = 4, .out = 1});
  bench.model.freeze("a.*");
  test::run(bench.rig(2, 2), [&](Hand& hand) {
    for (const engine::Op& op : hand.engine.plan().ops)
      EXPECT_NE(op.kind, engine::OpKind::kBackward);
    test::step(hand, 0, [](int lane) { return random_lane(0, lane); });
  });
}

TEST(Frozen, ModelIsRefused) {
  Bench bench;
  bench.model.add<nn::Linear>("a", {.in = 7, .out = 1});
  bench.model.freeze("*");
  const comm::RunResult result = test::try_run(bench.rig(1, 2), [](Hand&) {});
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.exit_code, 2);
  testing::expect_mentions(result.failure->message, {"trainable"});
}

// ---- groups

class Ones final : public nn::Layer {
 public:
  struct Options {};
  explicit Ones(Options)
      : matrix_(*this, "matrix",
                {.shape = {20, 40}, .init = nn::constant(1.0f)}),
        gain_(*this, "gain", {.shape = {40}, .init = nn::constant(1.0f)}) {}
  nn::Values forward(const nn::Values& in) const override {
    nn::Tape& tape = in.only().tape();
    const nn::Var all =
        autograd::sum(matrix_(tape)) + autograd::sum(gain_(tape));
    return autograd::scale(all, 0.0f);
  }

 private:
  nn::Parameter matrix_, gain_;
};

TEST(Groups, DecayMatricesOnlyWhereverAShardEnds) {
  Bench bench;
  bench.model.add<Ones>("ones", {});
  bench.optimizer = optim::adamw({});
  for_all_shards([&](int ranks, int stage) {
    Rig rig = bench.rig(1, ranks, stage);
    rig.options.groups = {.lr = 0.1, .weight_decay = 0.1};
    const Trained trained = train_on(rig, {1});
    for (float w : trained.ledger.master("ones.matrix"))
      EXPECT_NEAR(w, 0.99f, 1e-7);
    for (float w : trained.ledger.master("ones.gain")) EXPECT_EQ(w, 1.0f);
  });
}

TEST(Groups, TakeTheRatesOfTheirRule) {
  Bench bench;
  bench.model.add<test::Times>("slow", {.start = 1.0f});
  bench.model.add<test::Times>("fast", {.start = 1.0f});
  for_all_shards([&](int ranks, int stage) {
    Rig rig = bench.rig(1, ranks, stage);
    rig.options.groups.rules = {{.match = "slow.*", .lr = 0.25}};
    const Trained trained = train_on(rig, {1});
    EXPECT_EQ(trained.ledger.master("slow.w")[0], 0.75f);
    EXPECT_EQ(trained.ledger.master("fast.w")[0], 0.0f);
  });
}

// Three tensors in two groups, loaded after the first update by other ranks.
TEST(Groups, ShareOneCountOfUpdatesAlsoOverAResume) {
  Bench bench;
  for (const std::string name : {"a", "b", "c"})
    bench.model.add<Adds>(name, {.factor = 1.0f, .start = 1.0f});
  bench.model.add<TakesSum>("sum", {});
  bench.optimizer = optim::adamw({});
  for_all_shards([&](int ranks, int stage) {
    Rig rig = bench.rig(2, 3);
    rig.options.groups = {.lr = 0.1, .rules = {{.match = "b.*", .lr = 0.2}}};
    const Trained first = train_on(rig, {0.5f, 0.5f});
    for (const std::string name : {"a.w", "c.w"})
      EXPECT_NEAR(first.ledger.master(name)[0], 0.9f, 1e-6);
    EXPECT_NEAR(first.ledger.master("b.w")[0], 0.8f, 1e-6);
    rig.ranks = ranks;
    rig.options.stage = static_cast<Stage>(stage);
    test::Ledger second;
    test::run(rig, [&](Hand& hand) {
      first.ledger.load(hand, bench.model, 1);
      test::step(hand, 1, [](int) { return test::tokens({-0.25f}); });
      second.add(hand, bench.model);
    });
    for (const std::string name : {"a.w", "c.w"})
      EXPECT_NEAR(second.master(name)[0], 0.873366f, 1e-6);
    EXPECT_NEAR(second.master("b.w")[0], 0.8f - 2 * 0.026634f, 2e-6);
  });
}

// ---- random numbers

// y = dropout(x), and what it drew.
class Drops final : public nn::Layer {
 public:
  struct Options {};
  explicit Drops(Options) : w_(*this, "w", {.shape = {1, 1}}) {}
  nn::Values forward(const nn::Values& in) const override {
    const nn::Var& x = in.only();
    const nn::Var kept = autograd::dropout(x, 0.5f);
    return nn::Values(
        {{"x", autograd::linear(kept, w_(x.tape()))}, {"kept", kept}});
  }

 private:
  nn::Parameter w_;
};

using Draws = std::vector<float>;

// Writes down every lane's mask under its step and number.
class Observes final : public nn::Loss {
 public:
  std::int64_t weight(const Batch&) const override { return 1; }
  Result forward(const nn::Values& out, const Batch& lane) const override {
    const std::lock_guard lock(mutex_);
    const Draws id = testing::values_of(lane.targets[0].tensor);
    draws_[{id[0], id[1]}] = testing::values_of(out["kept"].value());
    return {.sum = autograd::sum(out["x"]), .metrics = {}};
  }
  const std::map<std::pair<float, float>, Draws>& draws() const {
    return draws_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::pair<float, float>, Draws> draws_;
};

std::map<std::pair<float, float>, Draws> draws_of(
    int ranks, engine::Recompute recompute = engine::Recompute::kNone) {
  Bench bench;
  bench.model.add<Drops>("drops", {});
  const Observes loss;
  Rig rig = bench.rig(4, ranks);
  rig.loss = &loss;
  rig.options.precision.recompute = recompute;
  test::train(rig, 2, [](std::int64_t step, int lane) {
    Batch batch = test::tokens(Draws(64, 1.0f));
    batch.targets[0].tensor =
        tensor_of({static_cast<float>(step), static_cast<float>(lane)}, {2});
    return batch;
  });
  return loss.draws();
}

TEST(Dropout, DrawsAnotherMaskForEveryLaneAndStep) {
  const auto draws = draws_of(2);
  ASSERT_EQ(draws.size(), 8u);
  std::vector<Draws> masks;
  for (const auto& [id, mask] : draws) masks.push_back(mask);
  std::ranges::sort(masks);
  EXPECT_EQ(std::ranges::adjacent_find(masks), masks.end());
}

TEST(Dropout, DrawsTheSameMasksOnAnyNumberOfRanks) {
  const auto one = draws_of(1);
  for (int ranks = 2; ranks <= 5; ++ranks) EXPECT_EQ(draws_of(ranks), one);
  EXPECT_EQ(draws_of(2, engine::Recompute::kLayer), one);
}

}  // namespace
}  // namespace quire
