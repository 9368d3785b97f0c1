#include "quire/kernels/activation.h"

#include "quire/autograd/arguments.h"
#include "quire/autograd/operations.h"

namespace quire::autograd {
namespace {

Var activation(std::string_view name, kernels::Activation kind, const Var& x) {
  Tape& tape = compute_tape_of(name, {{"x", x}});
  Tensor y = tape.allocate(x.dtype(), x.shape());
  kernels::activation_forward({.kind = kind, .x = x.value(), .y = y},
                              tape.stream());
  return tape.record(
      name, std::move(y), std::span(&x, 1), [kind, x](const Tensor& dy) {
        Tape& tape = x.tape();
        Tensor dx = tape.allocate(x.dtype(), x.shape());
        kernels::activation_backward(
            {.kind = kind, .dy = dy, .x = x.value(), .dx = dx}, tape.stream());
        tape.add_gradient(x, std::move(dx));
      });
}

}  // namespace

Var gelu(const Var& x) {
  return activation("gelu", kernels::Activation::kGeluTanh, x);
}

Var gelu_erf(const Var& x) {
  return activation("gelu_erf", kernels::Activation::kGeluErf, x);
}

Var relu(const Var& x) {
  return activation("relu", kernels::Activation::kRelu, x);
}

}  // namespace quire::autograd
