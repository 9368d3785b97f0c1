#include "tests/support/parameters.h"

#include "quire/kernels/elementwise.h"

namespace quire::testing {
namespace {

using nn::Initializer;

Tensor initial_value(const nn::ParameterInfo& info, Cpu& cpu, DType compute) {
  const auto kind = info.init.kind == Initializer::Kind::kUniform
                        ? kernels::FillRandom::Kind::kUniform
                        : kernels::FillRandom::Kind::kNormal;
  Tensor y =
      cpu.allocator.allocate(DType::kF32, info.shape, Category::kParameters);
  if (info.init.kind == Initializer::Kind::kConstant)
    kernels::fill({.y = y, .value = info.init.a}, cpu.stream);
  else
    kernels::fill_random({.y = y,
                          .kind = kind,
                          .a = info.init.a,
                          .b = info.init.b,
                          .key = random_key(1, info.name, 0)},
                         cpu.stream);
  Tensor rounded =
      cpu.allocator.allocate(compute, info.shape, Category::kParameters);
  kernels::cast({.x = y, .y = rounded}, cpu.stream);
  return rounded;
}

}  // namespace

PlainParameters::Gradient PlainParameters::gradient(int id) {
  ++contributions_;
  Tensor& gradient = gradients_.at(index(id));
  const bool accumulate = gradient.defined();
  if (!accumulate)
    gradient = allocator_->allocate(DType::kF32, value(id).shape(),
                                    Category::kGradients);
  return {.tensor = gradient, .accumulate = accumulate};
}

void PlainParameters::clear_gradients() {
  gradients_.assign(gradients_.size(), {});
  contributions_ = 0;
}

PlainParameters initial_parameters(const nn::Model& model, Cpu& cpu,
                                   DType compute) {
  std::vector<Tensor> values;
  for (const nn::ParameterInfo& info : model.parameters())
    values.push_back(initial_value(info, cpu, compute));
  PlainParameters result(std::move(values), cpu.allocator);
  for (std::size_t id = 0; id < model.parameters().size(); ++id)
    if (!model.parameters()[id].trainable) result.freeze(static_cast<int>(id));
  return result;
}

}  // namespace quire::testing
