#include "quire/kernels/sum.h"

#include "quire/autograd/arguments.h"
#include "quire/autograd/operations.h"
#include "quire/kernels/elementwise.h"

namespace quire::autograd {

Var sum(const Var& x) {
  Tape& tape = compute_tape_of("sum", {{"x", x}});
  Tensor y = tape.allocate(DType::kF32, {1});
  const double total = kernels::sum({.x = x.value()}, tape.stream());
  kernels::fill({.y = y, .value = static_cast<float>(total)}, tape.stream());
  return tape.record("sum", std::move(y), std::span(&x, 1),
                     [x = x.without_value()](const Tensor& dy) {
                       Tape& tape = x.tape();
                       Tensor dx = tape.allocate(x.dtype(), x.shape());
                       kernels::fill({.y = dx, .value = scalar_of(dy)},
                                     tape.stream());
                       tape.add_gradient(x, std::move(dx));
                     });
}

}  // namespace quire::autograd
