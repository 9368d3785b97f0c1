#include "quire/kernels/layer_norm.h"

#include "quire/autograd/arguments.h"
#include "quire/autograd/operations.h"

namespace quire::autograd {
namespace {

constexpr std::string_view kName = "layer_norm";

struct Saved {
  Var x, gamma, beta;
  Tensor mean, rstd;
};

Tape& checked(const Var& x, const Var& gamma, const Var& beta) {
  const Arguments args = {{"x", x}, {"gamma", gamma}, {"beta", beta}};
  Tape& tape = compute_tape_of(kName, args);
  if (x.shape().rank() < 1 || !(gamma.shape() == Shape{x.dim(-1)}) ||
      !(beta.shape() == gamma.shape()))
    refuse(kName, args, "x [..., C], gamma [C] and beta [C]");
  return tape;
}

ParameterSource::Gradient slot_of(const Var& var) {
  if (!var.needs_grad()) return {.tensor = {}, .accumulate = false};
  return var.tape().gradient_slot(var);
}

void backward(const Saved& saved, const Tensor& dy) {
  Tape& tape = saved.x.tape();
  Tensor dx = tape.allocate(saved.x.dtype(), saved.x.shape());
  const auto gamma = slot_of(saved.gamma), beta = slot_of(saved.beta);
  kernels::layer_norm_backward({.dy = as_matrix(dy),
                                .x = as_matrix(saved.x.value()),
                                .gamma = saved.gamma.value(),
                                .mean = saved.mean,
                                .rstd = saved.rstd,
                                .dx = as_matrix(dx),
                                .dgamma = gamma.tensor,
                                .dbeta = beta.tensor,
                                .accumulate_gamma = gamma.accumulate,
                                .accumulate_beta = beta.accumulate},
                               tape.stream());
  if (saved.x.needs_grad()) tape.add_gradient(saved.x, std::move(dx));
  if (saved.gamma.needs_grad()) tape.finish_slot(saved.gamma, gamma);
  if (saved.beta.needs_grad()) tape.finish_slot(saved.beta, beta);
}

}  // namespace

Var layer_norm(const Var& x, const Var& gamma, const Var& beta, float eps) {
  Tape& tape = checked(x, gamma, beta);
  const Shape rows{rows_of(x.shape())};
  Tensor y = tape.allocate(x.dtype(), x.shape());
  Saved saved{.x = x,
              .gamma = gamma,
              .beta = beta.without_value(),
              .mean = tape.allocate(DType::kF32, rows),
              .rstd = tape.allocate(DType::kF32, rows)};
  kernels::layer_norm_forward({.x = as_matrix(x.value()),
                               .gamma = gamma.value(),
                               .beta = beta.value(),
                               .y = as_matrix(y),
                               .mean = saved.mean,
                               .rstd = saved.rstd,
                               .eps = eps},
                              tape.stream());
  const Var inputs[] = {x, gamma, beta};
  return tape.record(
      kName, std::move(y), inputs,
      [saved = std::move(saved)](const Tensor& dy) { backward(saved, dy); });
}

}  // namespace quire::autograd
