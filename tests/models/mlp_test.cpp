#include "quire/models/mlp.h"

#include <gtest/gtest.h>

#include "quire/autograd/gradient_check.h"
#include "tests/support/tensors.h"

namespace quire::models {
namespace {

using namespace quire::testing;

std::string check(const nn::Model& model, const Tensor& x) {
  std::vector<Tensor> parameters;
  for (const auto& info : model.parameters())
    parameters.push_back(random_tensor(info.shape, 10 + parameters.size()));
  return autograd::check_gradients(
      {.function =
           [&](autograd::Tape&, std::span<const autograd::Var> in) {
             nn::Values values = in[0];
             for (const auto& position : model.positions())
               values = position.layer->forward(values);
             return values.only();
           },
       .inputs = {x},
       .parameters = std::move(parameters)});
}

TEST(Mlp, HasItsGradients) {
  EXPECT_EQ(check(mlp({.widths = {3, 5, 4, 2}}), random_tensor({2, 3}, 1)), "");
  EXPECT_EQ(check(mlp({.widths = {3, 8, 2}, .dropout = 0.5f}),
                  random_tensor({2, 3}, 1)),
            "");
}

TEST(Mlp, NamesItsLayersInOrder) {
  const nn::Model model = mlp({.widths = {3, 5, 2}});
  ASSERT_EQ(model.positions().size(), 2u);
  EXPECT_EQ(model.parameters()[0].name, "layer.0.weight");
  EXPECT_EQ(model.parameters()[0].shape, (Shape{5, 3}));
  EXPECT_EQ(model.parameters()[3].name, "layer.1.bias");
}

TEST(Mlp, IsLinearInItsLastLayer) {
  const nn::Model model = mlp({.widths = {3, 2}});
  EXPECT_EQ(model.positions().size(), 1u);
  EXPECT_EQ(model.numel(), 3 * 2 + 2);
}

TEST(Mlp, RefusesFewerThanTwoWidthsAndEmptyOnes) {
  expect_mentions(usage_error_of([] { mlp({.widths = {3}}); }),
                  {"1 widths", "at least"});
  usage_error_of([] { mlp({.widths = {3, 0}}); });
}

}  // namespace
}  // namespace quire::models
