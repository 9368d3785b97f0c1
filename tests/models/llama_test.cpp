#include "quire/models/llama.h"

#include <gtest/gtest.h>

#include "tests/support/golden_llamas.h"
#include "tests/support/lane.h"
#include "tests/support/lane_memory.h"
#include "tests/support/parameters.h"

namespace quire::models {
namespace {

using namespace quire::testing;

// A checkpoint of transformers, and its batch.
struct Checkpoint {
  explicit Checkpoint(const GoldenLlama& llama_, int threads = 1)
      : cpu(threads),
        model(llama(llama_.options)),
        parameters(initial_parameters(model, cpu)),
        golden(llama_.folder + "/golden") {
    const Golden file(llama_.folder + "/model");
    for (const auto& info : model.parameters())
      parameters.set(model.find(info.name), foreign(file, "", info.name));
    batch = {.inputs = {{"tokens", golden.tensor("input_ids")}},
             .targets = {{"targets", golden.tensor("labels")}}};
  }
  LaneResult run() {
    parameters.clear_gradients();
    return run_lane({.model = model,
                     .loss = nn::CrossEntropy(),
                     .batch = batch,
                     .context = {.stream = &cpu.stream,
                                 .allocator = &cpu.allocator,
                                 .parameters = &parameters,
                                 .seed = 5}});
  }
  void round_to(DType dtype) {
    for (int id = 0; id < static_cast<int>(model.parameters().size()); ++id)
      parameters.set(id, as_dtype(parameters.value(id), dtype));
  }
  const Tensor& gradient(std::string_view name) const {
    return parameters.gradient_of(model.find(name));
  }

  Cpu cpu;
  nn::Model model;
  PlainParameters parameters;
  Golden golden;
  Batch batch;
};

class Llama : public ::testing::TestWithParam<GoldenLlama> {};

TEST_P(Llama, GivesTheLogitsAndTheLossOfTransformers) {
  Checkpoint checkpoint(GetParam());
  const LaneResult result = checkpoint.run();
  expect_close(result.output, checkpoint.golden.tensor("logits"), 1e-5);
  const double expected = values_of(checkpoint.golden.tensor("loss"))[0];
  const double mean =
      values_of(result.sum)[0] / static_cast<double>(result.weight);
  EXPECT_NEAR(mean, expected, 1e-6 * expected);
}

// In truth zero: what is there is rounding.
bool is_key_bias(const std::string& name) {
  return name.ends_with("k_proj.bias");
}

TEST_P(Llama, GivesEveryGradientOfTransformers) {
  Checkpoint checkpoint(GetParam());
  checkpoint.run();
  for (const auto& info : checkpoint.model.parameters()) {
    if (is_key_bias(info.name)) continue;
    SCOPED_TRACE(info.name);
    expect_close(checkpoint.gradient(info.name),
                 foreign(checkpoint.golden, "grad.", info.name), 1e-5);
  }
}

TEST_P(Llama, HoldsEveryParameterOfTheCheckpointOnce) {
  const nn::Model model = llama(GetParam().options);
  const Golden file(GetParam().folder + "/model");
  EXPECT_EQ(model.parameters().size(), file.names().size());
  for (const auto& info : model.parameters())
    EXPECT_EQ(foreign(file, "", info.name).shape(), info.shape) << info.name;
}

TEST_P(Llama, HasTheSameBitsOnAnyNumberOfThreads) {
  Checkpoint one(GetParam(), 1), three(GetParam(), 3);
  expect_same_bits(three.run().output, one.run().output);
  for (const auto& info : one.model.parameters()) {
    SCOPED_TRACE(info.name);
    expect_same_bits(three.gradient(info.name), one.gradient(info.name));
  }
}

TEST_P(Llama, ComputesInBf16WithGradientsInFp32) {
  Checkpoint checkpoint(GetParam());
  const Tensor exact = checkpoint.run().output;
  checkpoint.round_to(DType::kBF16);
  const Tensor rounded = checkpoint.run().output;
  EXPECT_EQ(rounded.dtype(), DType::kBF16);
  expect_close(rounded, exact, 0.05);
  const std::string norm = "layers.1.input_layernorm.weight";
  EXPECT_EQ(checkpoint.gradient(norm).dtype(), DType::kF32);
  expect_close(checkpoint.gradient(norm),
               foreign(checkpoint.golden, "grad.", norm), 0.1);
}

TEST_P(Llama, TakesOnTheMetaDeviceTheMemoryOfTheCpu) {
  const LlamaOptions& options = GetParam().options;
  const nn::Model model = llama(options);
  EXPECT_EQ(lane_memory(model, options.vocab, Device::kMeta).peak,
            lane_memory(model, options.vocab, Device::kCpu).peak);
}

INSTANTIATE_TEST_SUITE_P(, Llama, ::testing::ValuesIn(golden_llamas()),
                         [](const auto& test) { return test.param.folder; });

LlamaOptions tiny() { return golden_llama("llama_tiny").options; }

TEST(LlamaModel, CallsItsLayersByTheirPlaces) {
  const nn::Model model = llama(tiny());
  std::vector<std::string> names;
  for (const auto& position : model.positions()) names.push_back(position.name);
  EXPECT_EQ(names, (std::vector<std::string>{"embed", "layers.0", "layers.1",
                                             "layers.2", "head"}));
}

TEST(LlamaModel, TiesItsHeadIfAsked) {
  LlamaOptions options = tiny();
  EXPECT_EQ(llama(options).parameters().back().name, "head.lm_head.weight");
  options.tied_head = true;
  const nn::Model tied = llama(options);
  const auto& info = tied.parameter(tied.find("head.lm_head.weight"));
  EXPECT_EQ(info.name, "embed.embed_tokens.weight");
  EXPECT_EQ(info.positions, (std::vector<int>{0, 4}));
}

TEST(LlamaModel, HasTheBiasesThatItsOptionsName) {
  LlamaOptions options = tiny();
  options.qkv_bias = options.output_bias = options.mlp_bias = true;
  const nn::Model model = llama(options);
  for (const char* projection :
       {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
        "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"})
    EXPECT_GE(model.find(std::string("layers.1.") + projection + ".bias"), 0);
  EXPECT_EQ(model.parameters().size(),
            llama(tiny()).parameters().size() + 3 * 7);
}

TEST(LlamaModel, TakesNoMoreTokensThanItsContext) {
  Checkpoint checkpoint(golden_llama("llama_tiny"));
  checkpoint.batch.inputs[0].tensor = random_ids({1, 65}, 197, 1);
  expect_mentions(usage_error_of([&] { checkpoint.run(); }),
                  {"\"embed\"", "[1, 65]", "64"});
}

TEST(LlamaModel, RefusesSizesThatDoNotFit) {
  LlamaOptions options = tiny();
  options.kv_heads = 4;
  expect_mentions(usage_error_of([&] { llama(options); }),
                  {"heads 6", "kv_heads 4"});
  options = tiny();
  options.head_width = 7;
  expect_mentions(usage_error_of([&] { llama(options); }), {"head_width 7"});
  options = tiny();
  options.hidden = 0;
  expect_mentions(usage_error_of([&] { llama(options); }), {"hidden 0"});
  options = tiny();
  options.rotary.theta = -1.0f;
  expect_mentions(usage_error_of([&] { llama(options); }), {"theta -1"});
}

}  // namespace
}  // namespace quire::models
