#include "quire/kernels/dropout.h"

#include "quire/autograd/arguments.h"
#include "quire/autograd/operations.h"

namespace quire::autograd {

Var dropout(const Var& x, float p) {
  Tape& tape = compute_tape_of("dropout", {{"x", x}});
  require_fraction("dropout", {{"x", x}}, "probability", p);
  if (p == 0.0f || !tape.training()) return x;
  const RandomKey key = tape.next_key();
  Tensor y = tape.allocate(x.dtype(), x.shape());
  kernels::dropout({.x = x.value(), .y = y, .probability = p, .key = key},
                   tape.stream());
  return tape.record("dropout", std::move(y), std::span(&x, 1),
                     [p, key, x = x.without_value()](const Tensor& dy) {
                       Tape& tape = x.tape();
                       Tensor dx = tape.allocate(x.dtype(), x.shape());
                       kernels::dropout(
                           {.x = dy, .y = dx, .probability = p, .key = key},
                           tape.stream());
                       tape.add_gradient(x, std::move(dx));
                     });
}

}  // namespace quire::autograd
