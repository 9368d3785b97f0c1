// Ten steps of tiny models beside those of transformers.
#include "tests/support/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "quire/engine/dry_run.h"
#include "quire/models/gpt2.h"
#include "quire/optim/adam.h"
#include "tests/support/golden_llamas.h"
#include "tests/support/rig.h"
#include "tests/support/tensors.h"

namespace quire {
namespace {

using test::Hand;
using test::Rig;
using testing::Golden;
using testing::GoldenLlama;

// A model, and what transformers made of it.
struct Facts {
  std::string folder;  // of tests/data
  nn::Model model;
  std::vector<GoldenLlama::Step> steps;
  double final_loss;
  // Those of our parameter `name` from a file's tensors with `prefix`.
  std::function<std::vector<float>(
      const Golden& file, const std::string& prefix, const std::string& name)>
      values;
  // Its true gradient is zero: what Adam makes of it is rounding.
  std::function<bool(const std::string& name, std::size_t element)> is_noise;
};

// "embed.wte.weight" as transformers writes it: "transformer.wte.weight".
std::string gpt2_name(const std::string& name) {
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

std::vector<float> gpt2_values(const Golden& file, const std::string& prefix,
                               const std::string& name) {
  const Tensor x = file.tensor(prefix + gpt2_name(name));
  std::vector<float> values = testing::values_of(x);
  if (!is_transposed(name)) return values;
  std::vector<float> turned;
  for (std::int64_t column = 0; column < x.dim(1); ++column)
    for (std::int64_t row = 0; row < x.dim(0); ++row)
      turned.push_back(
          values[static_cast<std::size_t>(row * x.dim(1) + column)]);
  return turned;
}

Facts gpt2() {
  return {
      .folder = "gpt2_tiny",
      .model = models::gpt2(
          {.layers = 3, .width = 36, .heads = 3, .context = 40, .vocab = 211}),
      .steps = {{5.401836395263672, 1.2652583122253418},
                {5.108438968658447, 1.1302396059036255},
                {4.963691234588623, 2.387974977493286},
                {4.645089149475098, 1.695736050605774},
                {4.395020008087158, 1.838495135307312},
                {4.073563575744629, 1.4652659893035889},
                {3.8093552589416504, 1.2121986150741577},
                {3.538884162902832, 1.012195110321045},
                {3.2722434997558594, 1.1529468297958374},
                {3.03790545463562, 1.159138560295105}},
      .final_loss = 2.7764036655426025,
      .values = gpt2_values,
      .is_noise = [](const std::string& name, std::size_t element) {
        return name.ends_with("c_attn.bias") && element >= 36 && element < 72;
      }};
}

Facts llama(const GoldenLlama& golden) {
  return {
      .folder = golden.folder,
      .model = models::llama(golden.options),
      .steps = golden.steps,
      .final_loss = golden.final_loss,
      .values =
          [](const Golden& file, const std::string& prefix,
             const std::string& name) {
            return testing::values_of(testing::foreign(file, prefix, name));
          },
      .is_noise = [](const std::string& name,
                     std::size_t) { return name.ends_with("k_proj.bias"); }};
}

Facts facts_of(const std::string& folder) {
  return folder == "gpt2_tiny" ? gpt2() : llama(testing::golden_llama(folder));
}

struct Tiny {
  explicit Tiny(const std::string& folder)
      : facts(facts_of(folder)),
        checkpoint(folder + "/model"),
        golden(folder + "/golden") {}

  Facts facts;
  nn::CrossEntropy loss;
  std::unique_ptr<optim::Optimizer> optimizer =
      optim::adamw({.beta1 = 0.9, .beta2 = 0.95});
  Golden checkpoint;
  Golden golden;

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
    return {.model = &facts.model,
            .loss = &loss,
            .optimizer = optimizer.get(),
            .options = options,
            .ranks = ranks};
  }
  void load(Hand& hand) const {
    for (const engine::StateRange& range : hand.engine.held_state()) {
      if (range.kind != "master") continue;
      const auto values = facts.values(
          checkpoint, "", facts.model.parameter(range.parameter).name);
      std::copy_n(values.begin() + range.first, range.data.numel(),
                  range.data.data<float>());
    }
    hand.engine.restored(0);
  }
};

void expect_steps_of_transformers(Hand& hand, const Tiny& tiny) {
  const auto lane = [&](int lane) { return tiny.lane(lane); };
  std::int64_t step = 0;
  for (const GoldenLlama::Step& expected : tiny.facts.steps) {
    SCOPED_TRACE("step " + std::to_string(step));
    const auto got = test::step(hand, step++, lane);
    const double warm = std::min(1.0, static_cast<double>(step) / 3);
    EXPECT_NEAR(got.loss, expected.loss, 1e-6 * expected.loss);
    EXPECT_NEAR(got.gradient_norm, expected.norm, 1e-5 * expected.norm);
    EXPECT_NEAR(got.lr_factor, warm, 1e-12);
  }
  const auto last = hand.engine.evaluate(tiny.lanes(), lane);
  EXPECT_NEAR(last.loss, tiny.facts.final_loss, 1e-5 * tiny.facts.final_loss);
}

void expect_weights_of_transformers(const test::Ledger& ledger,
                                    const Tiny& tiny) {
  for (const nn::ParameterInfo& info : tiny.facts.model.parameters()) {
    const auto got = ledger.master(info.name);
    const auto expected = tiny.facts.values(tiny.golden, "after.", info.name);
    ASSERT_EQ(got.size(), expected.size());
    float largest = 0.0f;
    for (float value : expected) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (tiny.facts.is_noise(info.name, i)) continue;
      ASSERT_NEAR(got[i], expected[i], 1e-4 * largest)
          << info.name << "[" << i << "]";
    }
  }
}

// Gives the state after the last step.
test::Ledger expect_transformers(const Tiny& tiny, const Rig& rig) {
  test::Ledger ledger;
  test::run(rig, [&](Hand& hand) {
    tiny.load(hand);
    expect_steps_of_transformers(hand, tiny);
    ledger.add(hand, tiny.facts.model);
  });
  expect_weights_of_transformers(ledger, tiny);
  return ledger;
}

class GoldenTraining : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenTraining, IsThatOfTransformersOnOneAndThreeRanksWithOneState) {
  const Tiny tiny(GetParam());
  const test::Ledger one = expect_transformers(tiny, tiny.rig(1, 3));
  for (int stage = 0; stage <= 3; ++stage)
    EXPECT_TRUE(expect_transformers(tiny, tiny.rig(3, stage)) == one) << stage;
}

// Logits of all lanes as every rank has them, in memory that is NaN when it is
// new.
std::vector<Tensor> poisoned_logits(const Tiny& tiny, int ranks) {
  std::vector<Tensor> logits(static_cast<std::size_t>(ranks * tiny.lanes()));
  Rig rig = tiny.rig(ranks, 3);
  rig.poison = true;
  test::run(rig, [&](Hand& hand) {
    tiny.load(hand);
    hand.engine.open();
    for (int lane = 0; lane < tiny.lanes(); ++lane)
      logits[static_cast<std::size_t>(hand.rank() * tiny.lanes() + lane)] =
          testing::copy_of(hand.engine.forward(tiny.lane(lane)));
    hand.engine.close();
  });
  return logits;
}

TEST_P(GoldenTraining, IsThatOfTransformersGatheredForGeneration) {
  const Tiny tiny(GetParam());
  const Tensor expected = tiny.golden.tensor("logits");
  std::int64_t first = 0;
  for (const Tensor& got : poisoned_logits(tiny, 1)) {
    testing::expect_close(got, expected.range(first, got.shape()), 1e-5);
    first += got.numel();
  }
}

// A frequency that no rank computed would be NaN, or another angle.
TEST_P(GoldenTraining, GivesEveryRankTheLogitsOfOneInPoisonedMemory) {
  const Tiny tiny(GetParam());
  const std::vector<Tensor> one = poisoned_logits(tiny, 1);
  const std::vector<Tensor> three = poisoned_logits(tiny, 3);
  ASSERT_EQ(three.size(), 3 * one.size());
  for (std::size_t i = 0; i < three.size(); ++i)
    testing::expect_same_bits(three[i], one[i % one.size()]);
}

TEST_P(GoldenTraining, HoldsWhatTheDryRunSays) {
  const Tiny tiny(GetParam());
  const Rig rig = tiny.rig(2, 3);
  test::run(rig, [&](Hand& hand) {
    test::step(hand, 0, [&](int lane) { return tiny.lane(lane); });
    const engine::DryRun predicted =
        engine::dry_run({.model = rig.model,
                         .loss = rig.loss,
                         .optimizer = rig.optimizer,
                         .options = rig.options,
                         .lane = tiny.lane(0)},
                        rig.ranks, hand.rank());
    EXPECT_EQ(hand.allocator.report().total_peak, predicted.memory.total_peak);
  });
}

INSTANTIATE_TEST_SUITE_P(, GoldenTraining,
                         ::testing::Values("gpt2_tiny", "llama_tiny",
                                           "qwen2_small", "qwen3_small",
                                           "mistral_small", "llama3_small"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace quire
