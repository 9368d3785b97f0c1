#include "quire/nn/layers.h"

#include <fmt/format.h>

#include <cmath>

namespace quire::nn {
namespace {

std::int64_t positive(std::int64_t value, std::string_view what) {
  if (value > 0) return value;
  throw UsageError(fmt::format("{} is {}; expected at least 1", what, value));
}

}  // namespace

Initializer linear_init(std::int64_t in) {
  const float bound = 1.0f / std::sqrt(static_cast<float>(in));
  return uniform(-bound, bound);
}

Linear::Linear(Options options)
    : weight_(*this, "weight",
              {.shape = {positive(options.out, "Linear: out"),
                         positive(options.in, "Linear: in")},
               .init = options.init.value_or(linear_init(options.in))}) {
  if (options.bias)
    bias_.emplace(*this, "bias", Parameter::Options{.shape = {options.out}});
}

Var Linear::operator()(const Var& x) const {
  Tape& tape = x.tape();
  const Var weight = weight_(tape);
  return autograd::linear(x, weight, bias_ ? (*bias_)(tape) : Var());
}

Embedding::Embedding(Options options)
    : weight_(*this, "weight",
              {.shape = {positive(options.count, "Embedding: count"),
                         positive(options.width, "Embedding: width")},
               .init = options.init}) {}

Var Embedding::operator()(const Var& ids) const {
  return autograd::embedding(ids, weight_(ids.tape()));
}

LayerNorm::LayerNorm(Options options)
    : options_(options),
      weight_(*this, "weight",
              {.shape = {positive(options.width, "LayerNorm: width")},
               .init = constant(1.0f)}),
      bias_(*this, "bias", {.shape = {options.width}}) {}

Var LayerNorm::operator()(const Var& x) const {
  Tape& tape = x.tape();
  const Var weight = weight_(tape);
  return autograd::layer_norm(x, weight, bias_(tape), options_.eps);
}

RmsNorm::RmsNorm(Options options)
    : options_(options),
      weight_(*this, "weight",
              {.shape = {positive(options.width, "RmsNorm: width")},
               .init = constant(1.0f)}) {}

Var RmsNorm::operator()(const Var& x) const {
  return autograd::rms_norm(x, weight_(x.tape()), options_.eps);
}

}  // namespace quire::nn
