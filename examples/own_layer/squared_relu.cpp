#include "squared_relu.h"

#include "quire/autograd/arguments.h"
#include "quire/kernels/activation.h"
#include "quire/kernels/elementwise.h"

namespace {

namespace kernels = quire::kernels;
using quire::Tensor;
using quire::autograd::Tape;
using quire::autograd::Var;

constexpr auto kRelu = kernels::Activation::kRelu;

// dx = 2 max(x, 0) dy.
void backward(const Var& x, const Tensor& dy) {
  Tape& tape = x.tape();
  Tensor dx = tape.allocate(x.dtype(), x.shape());
  kernels::activation_forward({.kind = kRelu, .x = x.value(), .y = dx},
                              tape.stream());
  kernels::multiply({.a = dx, .b = dy, .y = dx}, tape.stream());
  kernels::scale({.x = dx, .y = dx, .factor = 2}, tape.stream());
  tape.add_gradient(x, std::move(dx));
}

}  // namespace

Var squared_relu(const Var& x) {
  Tape& tape = quire::autograd::compute_tape_of("squared_relu", {{"x", x}});
  Tensor y = tape.allocate(x.dtype(), x.shape());
  kernels::activation_forward({.kind = kRelu, .x = x.value(), .y = y},
                              tape.stream());
  kernels::multiply({.a = y, .b = y, .y = y}, tape.stream());
  return tape.record("squared_relu", std::move(y), std::span(&x, 1),
                     [x](const Tensor& dy) { backward(x, dy); });
}
