#include "quire/kernels/rms_norm.h"

#include "quire/autograd/arguments.h"
#include "quire/autograd/operations.h"

namespace quire::autograd {
namespace {

constexpr std::string_view kName = "rms_norm";

struct Saved {
  Var x, gamma;
  Tensor rstd;
};

Tape& checked(const Var& x, const Var& gamma) {
  const Arguments args = {{"x", x}, {"gamma", gamma}};
  Tape& tape = compute_tape_of(kName, args);
  if (x.shape().rank() < 1 || !(gamma.shape() == Shape{x.dim(-1)}))
    refuse(kName, args, "x [..., C] and gamma [C]");
  return tape;
}

void backward(const Saved& saved, const Tensor& dy) {
  Tape& tape = saved.x.tape();
  Tensor dx = tape.allocate(saved.x.dtype(), saved.x.shape());
  ParameterSource::Gradient gamma{.tensor = {}, .accumulate = false};
  if (saved.gamma.needs_grad()) gamma = tape.gradient_slot(saved.gamma);
  kernels::rms_norm_backward({.dy = as_matrix(dy),
                              .x = as_matrix(saved.x.value()),
                              .gamma = saved.gamma.value(),
                              .rstd = saved.rstd,
                              .dx = as_matrix(dx),
                              .dgamma = gamma.tensor,
                              .accumulate_gamma = gamma.accumulate},
                             tape.stream());
  if (saved.x.needs_grad()) tape.add_gradient(saved.x, std::move(dx));
  if (saved.gamma.needs_grad()) tape.finish_slot(saved.gamma, gamma);
}

}  // namespace

Var rms_norm(const Var& x, const Var& gamma, float eps) {
  Tape& tape = checked(x, gamma);
  Tensor y = tape.allocate(x.dtype(), x.shape());
  Saved saved{.x = x,
              .gamma = gamma,
              .rstd = tape.allocate(DType::kF32, Shape{rows_of(x.shape())})};
  kernels::rms_norm_forward({.x = as_matrix(x.value()),
                             .gamma = gamma.value(),
                             .y = as_matrix(y),
                             .rstd = saved.rstd,
                             .eps = eps},
                            tape.stream());
  const Var inputs[] = {x, gamma};
  return tape.record(
      kName, std::move(y), inputs,
      [saved = std::move(saved)](const Tensor& dy) { backward(saved, dy); });
}

}  // namespace quire::autograd
