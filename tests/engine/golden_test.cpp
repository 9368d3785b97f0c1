// Ten steps of a tiny GPT-2 beside those of transformers.
#include "tests/support/golden.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "quire/models/gpt2.h"
#include "quire/optim/adam.h"
#include "tests/support/rig.h"
#include "tests/support/tensors.h"

namespace quire {
namespace {

using test::Hand;
using test::Rig;
using test::Trained;
using testing::Golden;

constexpr models::Gpt2Options kTiny = {
    .layers = 3, .width = 36, .heads = 3, .context = 40, .vocab = 211};

// tests/data/gpt2_tiny/golden.json
struct StepOfTransformers {
  double loss, norm, lr;
};
constexpr StepOfTransformers kSteps[] = {
    {5.401836395263672, 1.2652583122253418, 0.01 / 3},
    {5.108438968658447, 1.1302396059036255, 0.02 / 3},
    {4.963691234588623, 2.387974977493286, 0.01},
    {4.645089149475098, 1.695736050605774, 0.01},
    {4.395020008087158, 1.838495135307312, 0.01},
    {4.073563575744629, 1.4652659893035889, 0.01},
    {3.8093552589416504, 1.2121986150741577, 0.01},
    {3.538884162902832, 1.012195110321045, 0.01},
    {3.2722434997558594, 1.1529468297958374, 0.01},
    {3.03790545463562, 1.159138560295105, 0.01}};
constexpr double kFinalLoss = 2.7764036655426025;

// "embed.wte.weight" as transformers writes it: "transformer.wte.weight".
std::string foreign_name(const std::string& name) {
  for (const std::string layer : {"embed.", "head."})
    if (name.starts_with(layer))
      return "transformer." + name.substr(layer.size());
  return "transformer." + name;
}

// Its linear layers are written [in, out].
bool is_transposed(const std::string& name) {
  return name.starts_with("h.") && name.ends_with(".weight") &&
         name.find(".c_") != std::string::npos;
}

std::vector<float> values_from(const Golden& file, const std::string& prefix,
                               const std::string& name) {
  const Tensor x = file.tensor(prefix + foreign_name(name));
  std::vector<float> values = testing::values_of(x);
  if (!is_transposed(name)) return values;
  std::vector<float> turned;
  for (std::int64_t column = 0; column < x.dim(1); ++column)
    for (std::int64_t row = 0; row < x.dim(0); ++row)
      turned.push_back(
          values[static_cast<std::size_t>(row * x.dim(1) + column)]);
  return turned;
}

struct Tiny {
  nn::Model model = models::gpt2(kTiny);
  nn::CrossEntropy loss;
  std::unique_ptr<optim::Optimizer> optimizer =
      optim::adamw({.beta1 = 0.9, .beta2 = 0.95});
  Golden checkpoint{"gpt2_tiny/model"};
  Golden golden{"gpt2_tiny/golden"};

  // A sample a lane; the labels that count are spread unevenly over them.
  int lanes() const {
    return static_cast<int>(golden.tensor("input_ids").dim(0));
  }
  Batch lane(int lane) const {
    const auto row = [&](const std::string& name) {
      const Tensor all = golden.tensor(name);
      return all.range(lane * all.dim(1), Shape{1, all.dim(1)});
    };
    return {.inputs = {{"tokens", row("input_ids")}},
            .targets = {{"targets", row("labels")}}};
  }
  Rig rig(int ranks, int stage) const {
    engine::Options options;
    options.lanes = options.wave = lanes();
    options.stage = static_cast<engine::Stage>(stage);
    options.clip_norm = 1.0;
    options.groups = {.lr = 0.01, .weight_decay = 0.1};
    options.schedule = {.warmup = 3};
    return {.model = &model,
            .loss = &loss,
            .optimizer = optimizer.get(),
            .options = options,
            .ranks = ranks};
  }
  void load(Hand& hand) const {
    for (const engine::StateRange& range : hand.engine.held_state()) {
      if (range.kind != "master") continue;
      const auto values =
          values_from(checkpoint, "", model.parameter(range.parameter).name);
      std::copy_n(values.begin() + range.first, range.data.numel(),
                  range.data.data<float>());
    }
    hand.engine.restored(0);
  }
};

void expect_steps_of_transformers(Hand& hand, const Tiny& tiny) {
  const auto lane = [&](int lane) { return tiny.lane(lane); };
  std::int64_t step = 0;
  for (const StepOfTransformers& expected : kSteps) {
    SCOPED_TRACE("step " + std::to_string(step));
    const auto got = test::step(hand, step++, lane);
    EXPECT_NEAR(got.loss, expected.loss, 1e-6 * expected.loss);
    EXPECT_NEAR(got.gradient_norm, expected.norm, 1e-5 * expected.norm);
    EXPECT_NEAR(0.01 * got.lr_factor, expected.lr, 1e-12);
  }
  const auto last = hand.engine.evaluate(tiny.lanes(), lane);
  EXPECT_NEAR(last.loss, kFinalLoss, 1e-5 * kFinalLoss);
}

// Their true gradient is zero: what Adam makes of it is rounding.
bool is_key_bias(const std::string& name, std::size_t element) {
  return name.ends_with("c_attn.bias") && element >= 36 && element < 72;
}

void expect_weights_of_transformers(const test::Ledger& ledger,
                                    const Tiny& tiny) {
  for (const nn::ParameterInfo& info : tiny.model.parameters()) {
    const auto got = ledger.master(info.name);
    const auto expected = values_from(tiny.golden, "after.", info.name);
    ASSERT_EQ(got.size(), expected.size());
    float largest = 0.0f;
    for (float value : expected) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (is_key_bias(info.name, i)) continue;
      ASSERT_NEAR(got[i], expected[i], 1e-4 * largest)
          << info.name << "[" << i << "]";
    }
  }
}

void expect_transformers(int ranks, int stage) {
  const Tiny tiny;
  test::Ledger ledger;
  test::run(tiny.rig(ranks, stage), [&](Hand& hand) {
    tiny.load(hand);
    expect_steps_of_transformers(hand, tiny);
    ledger.add(hand, tiny.model);
  });
  expect_weights_of_transformers(ledger, tiny);
}

TEST(GoldenTraining, IsThatOfTransformersOnOneRank) {
  expect_transformers(1, 0);
  expect_transformers(1, 3);
}

TEST(GoldenTraining, IsThatOfTransformersOnThreeRanks) {
  for (int stage = 0; stage <= 3; ++stage) expect_transformers(3, stage);
}

TEST(GoldenTraining, IsThatOfTransformersGatheredForGeneration) {
  const Tiny tiny;
  const Tensor logits = tiny.golden.tensor("logits");
  test::run(tiny.rig(2, 3), [&](Hand& hand) {
    tiny.load(hand);
    hand.engine.open();
    for (int lane = 0; lane < tiny.lanes(); ++lane) {
      const Tensor got = hand.engine.forward(tiny.lane(lane));
      testing::expect_close(got, logits.range(lane * got.numel(), got.shape()),
                            1e-5);
    }
    hand.engine.close();
  });
}

}  // namespace
}  // namespace quire
