#include "quire/models/gpt2.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/golden.h"
#include "tests/support/lane.h"
#include "tests/support/lane_memory.h"
#include "tests/support/parameters.h"

namespace quire::models {
namespace {

using namespace quire::testing;

constexpr Gpt2Options kTiny = {
    .layers = 3, .width = 36, .heads = 3, .context = 40, .vocab = 211};

// "h.0.attn.c_attn.weight" as transformers writes it:
// "transformer.h.0.attn.c_attn.weight".
std::string foreign_name(std::string name) {
  for (const std::string layer : {"embed.", "head."})
    if (name.starts_with(layer)) name = name.substr(layer.size());
  return "transformer." + name;
}

// Its linear layers are written [in, out].
bool is_transposed(const std::string& name) {
  return name.starts_with("h.") && name.ends_with(".weight") &&
         name.find(".c_") != std::string::npos;
}

Tensor transposed(const Tensor& x) {
  const std::int64_t rows = x.dim(0), columns = x.dim(1);
  Tensor y = zeros({columns, rows});
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      y.data<float>()[j * rows + i] = x.data<float>()[i * columns + j];
  return y;
}

Tensor from(const Golden& file, const std::string& prefix,
            const std::string& name) {
  const Tensor x = file.tensor(prefix + foreign_name(name));
  return is_transposed(name) ? transposed(x) : x;
}

// The tiny checkpoint of transformers, and its batch.
struct Tiny {
  explicit Tiny(Gpt2Options options = kTiny, int threads = 1)
      : cpu(threads),
        model(gpt2(options)),
        parameters(initial_parameters(model, cpu)) {
    const Golden file("gpt2_tiny/model");
    for (const auto& info : model.parameters())
      parameters.set(model.find(info.name), from(file, "", info.name));
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
  const Tensor& gradient(std::string_view name) const {
    return parameters.gradient_of(model.find(name));
  }

  Cpu cpu;
  nn::Model model;
  PlainParameters parameters;
  Golden golden{"gpt2_tiny/golden"};
  Batch batch{.inputs = {{"tokens", golden.tensor("input_ids")}},
              .targets = {{"targets", golden.tensor("labels")}}};
};

TEST(Gpt2, GivesTheLogitsAndTheLossOfTransformers) {
  Tiny tiny;
  const LaneResult result = tiny.run();
  expect_close(result.output, tiny.golden.tensor("logits"), 1e-5);
  const double expected = values_of(tiny.golden.tensor("loss"))[0];
  const double mean =
      values_of(result.sum)[0] / static_cast<double>(result.weight);
  EXPECT_NEAR(mean, expected, 1e-6 * expected);
}

TEST(Gpt2, GivesEveryGradientOfTransformers) {
  Tiny tiny;
  tiny.run();
  for (const auto& info : tiny.model.parameters()) {
    SCOPED_TRACE(info.name);
    expect_close(tiny.gradient(info.name),
                 from(tiny.golden, "grad.", info.name), 1e-5);
  }
}

TEST(Gpt2, HoldsEveryParameterOfTheCheckpointOnce) {
  const nn::Model model = gpt2(kTiny);
  EXPECT_EQ(model.parameters().size(),
            Golden("gpt2_tiny/model").names().size());
  const std::int64_t block = 12 * 36 * 36 + 13 * 36;
  EXPECT_EQ(model.numel(), (211 + 40) * 36 + 3 * block + 2 * 36);
}

TEST(Gpt2, SharesTheTokenTableWithItsHead) {
  const nn::Model model = gpt2(kTiny);
  const auto& info = model.parameter(model.find("head.lm_head.weight"));
  EXPECT_EQ(info.name, "embed.wte.weight");
  EXPECT_EQ(info.positions, (std::vector<int>{0, 4}));
}

TEST(Gpt2, CallsItsLayersByTheirPlaces) {
  const nn::Model model = gpt2(kTiny);
  std::vector<std::string> names;
  for (const auto& position : model.positions()) names.push_back(position.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"embed", "h.0", "h.1", "h.2", "head"}));
}

TEST(Gpt2, StartsProjectionsIntoTheStreamSmaller) {
  const nn::Model model = gpt2(kTiny);
  const auto deviation = [&](std::string_view name) {
    return model.parameter(model.find(name)).init.b;
  };
  EXPECT_EQ(deviation("h.0.attn.c_attn.weight"), 0.02f);
  EXPECT_EQ(deviation("embed.wpe.weight"), 0.02f);
  EXPECT_NEAR(deviation("h.2.mlp.c_proj.weight"), 0.02 / std::sqrt(6.0), 1e-8);
  EXPECT_NEAR(deviation("h.2.attn.c_proj.weight"), 0.02 / std::sqrt(6.0), 1e-8);
}

Gpt2Options with_dropout() {
  Gpt2Options options = kTiny;
  options.dropout = 0.5f;
  return options;
}

TEST(Gpt2, DrawsTheSameMasksWhenALaneRunsAgain) {
  Tiny tiny(with_dropout());
  const LaneResult first = tiny.run();
  const Tensor gradient = tiny.gradient("embed.wte.weight");
  const LaneResult second = tiny.run();
  expect_same_bits(second.output, first.output);
  expect_same_bits(tiny.gradient("embed.wte.weight"), gradient);
  EXPECT_NE(values_of(first.output), values_of(Tiny().run().output));
}

TEST(Gpt2, HasTheSameBitsOnAnyNumberOfThreads) {
  Tiny one(with_dropout(), 1), three(with_dropout(), 3);
  expect_same_bits(three.run().output, one.run().output);
  for (const auto& info : one.model.parameters()) {
    SCOPED_TRACE(info.name);
    expect_same_bits(three.gradient(info.name), one.gradient(info.name));
  }
}

TEST(Gpt2, ComputesInBf16WithGradientsInFp32) {
  Tiny tiny;
  const Tensor exact = tiny.run().output;
  for (const auto& info : tiny.model.parameters()) {
    const int id = tiny.model.find(info.name);
    tiny.parameters.set(id, as_dtype(tiny.parameters.value(id), DType::kBF16));
  }
  const Tensor rounded = tiny.run().output;
  EXPECT_EQ(rounded.dtype(), DType::kBF16);
  expect_close(rounded, exact, 0.05);
  EXPECT_EQ(tiny.gradient("embed.wte.weight").dtype(), DType::kF32);
  expect_close(tiny.gradient("h.1.mlp.c_fc.weight"),
               from(tiny.golden, "grad.", "h.1.mlp.c_fc.weight"), 0.1);
}

TEST(Gpt2, TakesOnTheMetaDeviceTheMemoryOfTheCpu) {
  const nn::Model model = gpt2(kTiny);
  EXPECT_EQ(lane_memory(model, kTiny.vocab, Device::kMeta).peak,
            lane_memory(model, kTiny.vocab, Device::kCpu).peak);
}

TEST(Gpt2, TakesNoMoreTokensThanItsContext) {
  Tiny tiny;
  tiny.batch.inputs[0].tensor = random_ids({1, 41}, 211, 1);
  expect_mentions(usage_error_of([&] { tiny.run(); }),
                  {"\"embed\"", "[1, 41]", "40"});
}

TEST(Gpt2, RefusesHeadsThatDoNotDivideItsWidth) {
  Gpt2Options options = kTiny;
  options.heads = 5;
  expect_mentions(usage_error_of([&] { gpt2(options); }),
                  {"heads 5", "width 36"});
  options = kTiny;
  options.layers = 0;
  usage_error_of([&] { gpt2(options); });
}

}  // namespace
}  // namespace quire::models
