#include "quire/kernels/swiglu.h"

#include "quire/autograd/arguments.h"
#include "quire/autograd/operations.h"

namespace quire::autograd {
namespace {

void backward(const Var& gate, const Var& up, const Tensor& dy) {
  Tape& tape = gate.tape();
  Tensor dgate = tape.allocate(gate.dtype(), gate.shape());
  Tensor dup = tape.allocate(up.dtype(), up.shape());
  kernels::swiglu_backward({.dy = dy,
                            .gate = gate.value(),
                            .up = up.value(),
                            .dgate = dgate,
                            .dup = dup},
                           tape.stream());
  if (gate.needs_grad()) tape.add_gradient(gate, std::move(dgate));
  if (up.needs_grad()) tape.add_gradient(up, std::move(dup));
}

}  // namespace

Var swiglu(const Var& gate, const Var& up) {
  const Arguments args = {{"gate", gate}, {"up", up}};
  Tape& tape = compute_tape_of("swiglu", args);
  if (!(gate.shape() == up.shape())) refuse("swiglu", args, "one shape");
  Tensor y = tape.allocate(gate.dtype(), gate.shape());
  kernels::swiglu_forward({.gate = gate.value(), .up = up.value(), .y = y},
                          tape.stream());
  const Var inputs[] = {gate, up};
  return tape.record("swiglu", std::move(y), inputs,
                     [gate, up](const Tensor& dy) { backward(gate, up, dy); });
}

}  // namespace quire::autograd
