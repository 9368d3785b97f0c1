#include "quire/autograd/tape.h"

#include <fmt/format.h>

#include <algorithm>

#include "quire/kernels/elementwise.h"

namespace quire::autograd {

Tape::Tape(const Context& context) : context_(context) {
  if (context.stream == nullptr || context.allocator == nullptr)
    throw UsageError("a tape needs a stream and an allocator; got none");
}

void Tape::enter(std::string_view layer) {
  layer_ = layer;
  operation_index_ = 0;
}

RandomKey Tape::next_key() {
  return {.key = random_key(context_.seed, layer_, operation_index_++),
          .lane = context_.lane,
          .step = context_.step};
}

Var Tape::leaf(Tensor value, Grad grad) {
  if (!value.defined())
    throw UsageError(fmt::format(
        "layer \"{}\": a leaf needs a tensor; got an undefined one", layer_));
  if (grad == Grad::kNo) return Var(std::move(value), this, -1);
  nodes_.emplace_back();
  return Var(std::move(value), this,
             static_cast<std::int32_t>(nodes_.size()) - 1);
}

Var Tape::parameter(int id) {
  const auto known = std::ranges::find(parameter_nodes_, id,
                                       &std::pair<int, std::int32_t>::first);
  std::int32_t node = -1;
  if (known != parameter_nodes_.end()) {
    node = known->second;
  } else {
    if (training() && source(id).trainable(id)) {
      nodes_.emplace_back();
      node = static_cast<std::int32_t>(nodes_.size()) - 1;
    }
    parameter_nodes_.emplace_back(id, node);
  }
  Var var(parameter_value(id), this, node);
  var.parameter_ = id;
  return var;
}

Tensor Tape::parameter_value(int id) const { return source(id).value(id); }

ParameterSource& Tape::source(int id) const {
  if (context_.parameters == nullptr)
    throw UsageError(fmt::format(
        "layer \"{}\" reads parameter {}, but its tape has no parameters; give "
        "Context::parameters",
        layer_, id));
  return *context_.parameters;
}

Tensor Tape::allocate(DType dtype, const Shape& shape) {
  return allocator().allocate(dtype, shape, Category::kActivations);
}

Var Tape::record(std::string_view operation, Tensor result,
                 std::span<const Var> inputs, Backward backward) {
  for (const Var& input : inputs)
    if (input.defined()) require_mine(input, operation);
  if (observer_) observer_(layer_, operation, result);
  if (std::ranges::none_of(inputs, &Var::needs_grad))
    return Var(std::move(result), this, -1);
  nodes_.push_back({.backward = std::move(backward), .gradient = {}});
  return Var(std::move(result), this,
             static_cast<std::int32_t>(nodes_.size()) - 1);
}

void Tape::require_mine(const Var& var, std::string_view call) const {
  if (&var.tape() == this) return;
  throw UsageError(fmt::format(
      "layer \"{}\", {}: got a variable {} of another tape (layer \"{}\"); "
      "variables of one tape go together",
      layer_, call, var.shape().to_string(), var.tape().layer()));
}

Tensor Tape::converted(Tensor x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor y = allocate(dtype, x.shape());
  kernels::cast({.x = x, .y = y}, stream());
  return y;
}

Tensor Tape::added(Tensor a, Tensor b) {
  Tensor y = a.unique() ? a : b.unique() ? b : allocate(a.dtype(), a.shape());
  kernels::add({.a = a, .b = b, .y = y}, stream());
  return y;
}

void Tape::add_gradient(const Var& var, Tensor dx) {
  require_mine(var, "add_gradient");
  if (!var.needs_grad()) return;
  if (!dx.defined() || !(dx.shape() == var.shape()))
    throw UsageError(fmt::format(
        "layer \"{}\": got a gradient {} for a variable {}; expected equal "
        "shapes",
        layer_, dx.defined() ? dx.shape().to_string() : "that is undefined",
        var.shape().to_string()));
  if (var.is_parameter()) return add_to_parameter(var.parameter_, dx);
  Tensor& gradient = nodes_[static_cast<std::size_t>(var.node_)].gradient;
  dx = converted(std::move(dx), var.dtype());
  gradient = gradient.defined() ? added(std::move(gradient), std::move(dx))
                                : std::move(dx);
}

void Tape::add_to_parameter(int id, Tensor dx) {
  const auto slot = source(id).gradient(id);
  if (!slot.accumulate) {
    kernels::cast({.x = dx, .y = slot.tensor}, stream());
    return;
  }
  dx = converted(std::move(dx), DType::kF32);
  kernels::add({.a = slot.tensor, .b = dx, .y = slot.tensor}, stream());
}

ParameterSource::Gradient Tape::gradient_slot(const Var& var) {
  require_mine(var, "gradient_slot");
  if (!var.needs_grad())
    throw UsageError(fmt::format(
        "layer \"{}\": a gradient was asked for a variable {} that needs none",
        layer_, var.shape().to_string()));
  if (var.is_parameter())
    return source(var.parameter_).gradient(var.parameter_);
  return {.tensor = allocate(DType::kF32, var.shape()), .accumulate = false};
}

void Tape::finish_slot(const Var& var, const ParameterSource::Gradient& slot) {
  if (!var.is_parameter()) add_gradient(var, slot.tensor);
}

void Tape::backward(std::span<const Var> outputs,
                    std::span<const Tensor> gradients) {
  if (outputs.size() != gradients.size())
    throw UsageError(fmt::format(
        "layer \"{}\": backward got {} outputs and {} gradients; expected one "
        "gradient for every output",
        layer_, outputs.size(), gradients.size()));
  if (std::exchange(backward_ran_, true))
    throw UsageError(fmt::format(
        "layer \"{}\": backward ran on this tape before; a tape serves once",
        layer_));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (gradients[i].defined()) add_gradient(outputs[i], gradients[i]);
  run_backwards();
}

void Tape::run_backwards() {
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    if (!nodes_[i].backward) continue;
    // Out of the node first: what the closure holds dies at the end of its
    // turn.
    const Backward run = std::exchange(nodes_[i].backward, nullptr);
    const Tensor dy = std::exchange(nodes_[i].gradient, {});
    if (dy.defined()) run(dy);
  }
}

Tensor Tape::gradient(const Var& leaf) const {
  require_mine(leaf, "gradient");
  if (!leaf.needs_grad()) return {};
  return nodes_[static_cast<std::size_t>(leaf.node_)].gradient;
}

}  // namespace quire::autograd
