#include "quire/models/mlp.h"

#include <fmt/format.h>

#include "quire/nn/layers.h"

namespace quire::models {
namespace {

using nn::Values;
using nn::Var;

// A linear layer, GELU and dropout; its parameters are named like those of a
// linear layer alone.
class Hidden final : public nn::Layer {
 public:
  struct Options {
    std::int64_t in;
    std::int64_t out;
    float dropout;
  };
  explicit Hidden(Options options)
      : options_(options),
        weight_(*this, "weight",
                {.shape = {options.out, options.in},
                 .init = nn::linear_init(options.in)}),
        bias_(*this, "bias", {.shape = {options.out}}) {}

  Values forward(const Values& in) const override {
    const Var& x = in.only();
    const Var y = autograd::linear(x, weight_(x.tape()), bias_(x.tape()));
    return autograd::dropout(autograd::gelu(y), options_.dropout);
  }

 private:
  Options options_;
  nn::Parameter weight_;
  nn::Parameter bias_;
};

void check(const MlpOptions& options) {
  if (options.widths.size() < 2)
    throw UsageError(fmt::format(
        "mlp: got {} widths; expected at least the input's and the output's",
        options.widths.size()));
  for (const std::int64_t width : options.widths)
    if (width < 1)
      throw UsageError(
          fmt::format("mlp: a width is {}; expected at least 1", width));
}

}  // namespace

nn::Model mlp(const MlpOptions& options) {
  check(options);
  nn::Model model;
  const std::size_t layers = options.widths.size() - 1;
  for (std::size_t i = 0; i + 1 < layers; ++i)
    model.add<Hidden>(fmt::format("layer.{}", i), {.in = options.widths[i],
                                                   .out = options.widths[i + 1],
                                                   .dropout = options.dropout});
  model.add<nn::Linear>(
      fmt::format("layer.{}", layers - 1),
      {.in = options.widths[layers - 1], .out = options.widths[layers]});
  return model;
}

}  // namespace quire::models
