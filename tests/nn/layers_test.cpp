#include "quire/nn/layers.h"

#include <gtest/gtest.h>

#include "quire/autograd/gradient_check.h"
#include "quire/nn/model.h"
#include "tests/support/lane.h"
#include "tests/support/parameters.h"

namespace quire::nn {
namespace {

using namespace quire::testing;

// The backward of the only layer of `model` for input x, parameters at random.
std::string check_layer(const Model& model, const Tensor& x) {
  std::vector<Tensor> parameters;
  for (const auto& info : model.parameters())
    parameters.push_back(random_tensor(info.shape, 10 + parameters.size()));
  return autograd::check_gradients(
      {.function =
           [&](Tape&, std::span<const Var> in) {
             return model.positions()[0].layer->forward(in[0]).only();
           },
       .inputs = {x},
       .parameters = std::move(parameters)});
}

TEST(LinearLayer, HasItsGradients) {
  Model model;
  model.add<Linear>("layer", {.in = 3, .out = 4});
  EXPECT_EQ(check_layer(model, random_tensor({5, 3}, 1)), "");
}

TEST(LinearLayer, HasNoBiasIfToldSo) {
  Model model;
  model.add<Linear>("layer", {.in = 3, .out = 4, .bias = false});
  EXPECT_EQ(model.parameters().size(), 1u);
  EXPECT_EQ(check_layer(model, random_tensor({5, 3}, 1)), "");
}

TEST(LinearLayer, StartsUniformWithinTheRootOfItsInputs) {
  Model model;
  model.add<Linear>("layer", {.in = 16, .out = 4});
  const auto& init = model.parameters()[0].init;
  EXPECT_EQ(init.kind, Initializer::Kind::kUniform);
  EXPECT_EQ(init.a, -0.25f);
  EXPECT_EQ(init.b, 0.25f);
  EXPECT_EQ(model.parameters()[1].init.a, 0.0f);
}

TEST(EmbeddingLayer, HasItsGradient) {
  Model model;
  model.add<Embedding>("layer", {.count = 5, .width = 3});
  EXPECT_EQ(check_layer(model, ids_of({4, 0, 4}, {3})), "");
}

TEST(LayerNormLayer, HasItsGradients) {
  Model model;
  model.add<LayerNorm>("layer", {.width = 6});
  EXPECT_EQ(check_layer(model, random_tensor({2, 6}, 1)), "");
}

TEST(RmsNormLayer, HasItsGradients) {
  Model model;
  model.add<RmsNorm>("layer", {.width = 6});
  EXPECT_EQ(model.parameters()[0].init.a, 1.0f);
  EXPECT_FALSE(model.parameters()[0].decay);
  EXPECT_EQ(check_layer(model, random_tensor({2, 3, 6}, 1)), "");
}

TEST(DropoutLayer, HasTheGradientOfItsMask) {
  Model model;
  model.add<Dropout>("layer", {.probability = 0.5f});
  EXPECT_EQ(check_layer(model, random_tensor({4, 8}, 1)), "");
}

TEST(Layers, RefuseSizesThatAreNotPositive) {
  expect_mentions(usage_error_of([] { Linear({.in = 0, .out = 4}); }),
                  {"in is 0"});
  usage_error_of([] { Embedding({.count = -1, .width = 4}); });
  usage_error_of([] { LayerNorm({.width = 0}); });
}

TEST(TiedParameters, ReceiveTheGradientsOfBothUses) {
  // y = w (w x): with w = [[2]] and x = 3 the inner use gives 2 * 3 and the
  // outer one the inner result 2 * 3.
  Model model;
  model.add<Linear>("inner", {.in = 1, .out = 1, .bias = false});
  model.add<Linear>("outer", {.in = 1, .out = 1, .bias = false});
  model.tie("outer.weight", "inner.weight");
  class Itself final : public Loss {
    std::int64_t weight(const Batch&) const override { return 1; }
    Result forward(const Values& out, const Batch&) const override {
      return {.sum = autograd::sum(out.only())};
    }
  };
  Cpu cpu;
  PlainParameters parameters({tensor_of({2}, {1, 1})}, cpu.allocator);
  const Batch batch{.inputs = {{"x", tensor_of({3}, {1, 1})}}, .targets = {}};
  const auto result = run_lane({.model = model,
                                .loss = Itself(),
                                .batch = batch,
                                .context = {.stream = &cpu.stream,
                                            .allocator = &cpu.allocator,
                                            .parameters = &parameters}});
  expect_all(result.output, 12);
  EXPECT_EQ(parameters.contributions(), 2);
  expect_all(parameters.gradient_of(0), 12);
}

TEST(RepeatedLayers, ReceiveTheGradientsOfAllUses) {
  Model model;
  model.add<Linear>("once", {.in = 1, .out = 1, .bias = false});
  model.repeat("once", "twice");
  Cpu cpu;
  PlainParameters parameters({tensor_of({2}, {1, 1})}, cpu.allocator);
  Tape tape({.stream = &cpu.stream,
             .allocator = &cpu.allocator,
             .parameters = &parameters});
  Values values = tape.leaf(tensor_of({3}, {1, 1}));
  for (const auto& position : model.positions())
    values = position.layer->forward(values);
  const Tensor one = tensor_of({1}, {1, 1});
  tape.backward(std::span(&values.only(), 1), std::span(&one, 1));
  expect_all(parameters.gradient_of(0), 12);
}

}  // namespace
}  // namespace quire::nn
