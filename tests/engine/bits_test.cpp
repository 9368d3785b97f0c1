// Everything that only moves work around gives the bits of one rank at stage 0.
#include <gtest/gtest.h>

#include <map>

#include "quire/nn/loss.h"
#include "quire/optim/adam.h"
#include "quire/optim/optimizer.h"
#include "tests/support/matrix.h"
#include "tests/support/rig.h"
#include "tests/support/tensors.h"

namespace quire {
namespace {

using test::Outcome;
using test::Training;

Training alone(const Training& t) {
  Training one = t;
  one.ranks = one.threads = 1;
  one.processes = one.poison = false;
  one.delays = {};
  one.options.stage = engine::Stage::kNone;
  one.options.wave = 1;
  one.options.prefetch = 0;
  one.options.precision.recompute = engine::Recompute::kNone;
  return one;
}

// Trained once for every choice of types.
const Outcome& reference(const Training& t) {
  static std::map<std::pair<DType, DType>, Outcome> outcomes;
  const engine::Precision& precision = t.options.precision;
  const auto key = std::pair(precision.compute, precision.wire);
  if (!outcomes.contains(key)) outcomes.emplace(key, test::train(alone(t)));
  return outcomes.at(key);
}

void expect_reference_bits(const Training& t) {
  const Outcome got = test::train(t);
  EXPECT_EQ(got.state, reference(t).state);
  EXPECT_EQ(got.losses, reference(t).losses);
  EXPECT_EQ(got.norms, reference(t).norms);
}

class Bits : public ::testing::TestWithParam<Training> {};

TEST_P(Bits, AreThoseOfOneRank) { expect_reference_bits(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Pairwise, Bits,
                         ::testing::ValuesIn(test::selected_trainings()),
                         [](const auto& info) {
                           return test::name_of(info.param);
                         });

TEST(BitsOf, MoreRanksThanLanesAreThoseOfOneRank) {
  Training t = test::reference_training();
  t.options.lanes = 2;
  const Outcome one = test::train(alone(t));
  t.ranks = 4;
  for (int stage = 0; stage <= 3; ++stage) {
    t.options.stage = static_cast<engine::Stage>(stage);
    EXPECT_EQ(test::train(t).state, one.state) << "stage " << stage;
  }
}

TEST(BitsOf, APoisonedHeapAreThoseOfACleanOne) {
  Training t = test::reference_training();
  t.poison = true;
  t.ranks = 3;
  t.options.wave = 1;
  for (const bool mapped : {true, false}) {
    t.mapped = mapped;
    for (int stage = 0; stage <= 3; ++stage) {
      t.options.stage = static_cast<engine::Stage>(stage);
      SCOPED_TRACE(test::name_of(t));
      expect_reference_bits(t);
    }
  }
}

TEST(BitsOf, LateCollectivesAreThoseOfPromptOnes) {
  Training t = test::reference_training();
  t.poison = true;
  t.options.wave = 1;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    t.delays = seed;
    t.ranks = 2 + static_cast<int>(seed % 3);
    t.mapped = seed % 2 == 0;
    t.options.stage = static_cast<engine::Stage>(seed % 4);
    t.options.prefetch = static_cast<int>(seed % 3);
    SCOPED_TRACE(test::name_of(t));
    expect_reference_bits(t);
  }
}

// GPT-2 and AdamW, with a rig that borrows them.
struct Gpt2Rig {
  explicit Gpt2Rig(const test::Training& t)
      : model(models::gpt2(t.model)),
        rig{.model = &model,
            .loss = &loss,
            .optimizer = optimizer.get(),
            .options = t.options} {}
  Gpt2Rig(const Gpt2Rig&) = delete;
  Gpt2Rig& operator=(const Gpt2Rig&) = delete;

  const nn::Model model;
  const nn::CrossEntropy loss;
  const std::unique_ptr<optim::Optimizer> optimizer = optim::adamw({});
  test::Rig rig;
};

// What the ranks own at one end, held at the other.
void expect_bits_of_one_run(const test::Training& t, int stage) {
  Gpt2Rig gpt2(t);
  test::Rig& rig = gpt2.rig;
  const auto batch = [&](std::int64_t step, int lane) {
    return test::lane_batch(t, step, lane);
  };
  const test::Trained whole = test::train(rig, 4, batch);
  rig.ranks = 3;
  rig.options.stage = static_cast<engine::Stage>(stage);
  const test::Trained half = test::train(rig, 2, batch);
  rig.ranks = 2;
  rig.options.stage = static_cast<engine::Stage>(3 - stage);
  test::Ledger resumed;
  test::run(rig, [&](test::Hand& hand) {
    half.ledger.load(hand, gpt2.model, 2);
    for (std::int64_t i = 2; i < 4; ++i)
      test::step(hand, i, [&](int lane) { return batch(i, lane); });
    resumed.add(hand, gpt2.model);
  });
  EXPECT_EQ(resumed, whole.ledger) << "from stage " << stage;
}

TEST(BitsOf, ARunResumedOnOtherRanksAndStagesAreThoseOfOneRun) {
  for (const int stage : {0, 1, 3})
    expect_bits_of_one_run(test::reference_training(), stage);
  expect_bits_of_one_run(test::reference_training(test::Types::kBf16), 2);
}

// Of what a forward reads, nothing is left as the memory was before: on no
// rank.
TEST(BitsOf, LogitsOfAStateLoadedIntoAPoisonedHeapAreThoseOfOneRank) {
  const Training t = test::reference_training();
  Gpt2Rig gpt2(t);
  test::Rig& rig = gpt2.rig;
  const test::Trained trained = test::train(
      rig, 1, [&](auto step, int lane) { return lane_batch(t, step, lane); });
  const auto expect_logits = [&](const std::vector<float>* expected) {
    std::vector<float> got;
    test::run(rig, [&](test::Hand& hand) {
      trained.ledger.load(hand, gpt2.model);
      hand.engine.open();
      const auto logits =
          testing::values_of(hand.engine.forward(lane_batch(t, 1, 0)));
      hand.engine.close();
      if (expected != nullptr) {
        EXPECT_EQ(logits, *expected);
      }
      if (hand.rank() == 0) got = logits;
    });
    return got;
  };
  const std::vector<float> one = expect_logits(nullptr);
  rig.ranks = 3;
  rig.poison = true;
  for (const bool mapped : {true, false}) {
    rig.mapped = mapped;
    for (int stage = 0; stage <= 3; ++stage) {
      rig.options.stage = static_cast<engine::Stage>(stage);
      expect_logits(&one);
    }
  }
}

TEST(BitsOf, AnotherSeedDiffer) {
  Training t = test::reference_training();
  const Outcome first = test::train(t);
  ++t.options.seed;
  EXPECT_NE(test::train(t).state, first.state);
}

TEST(BitsOf, RoundingTheWireDiffer) {
  EXPECT_NE(reference(test::reference_training(test::Types::kBf16Wire)).state,
            reference(test::reference_training()).state);
}

}  // namespace
}  // namespace quire
