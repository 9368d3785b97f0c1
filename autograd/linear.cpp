#include "quire/autograd/arguments.h"
#include "quire/autograd/operations.h"
#include "quire/kernels/matmul.h"

namespace quire::autograd {
namespace {

constexpr std::string_view kName = "linear";

Tape& checked(const Var& x, const Var& w, const Var& b) {
  Tape& tape = compute_tape_of(kName, {{"x", x}, {"w", w}});
  if (x.shape().rank() < 1 || w.shape().rank() != 2 || x.dim(-1) != w.dim(1))
    refuse(kName, {{"x", x}, {"w", w}}, "x [..., K] and w [N, K]");
  if (b.defined()) {
    compute_tape_of(kName, {{"x", x}, {"w", w}, {"b", b}});
    if (!(b.shape() == Shape{w.dim(0)}))
      refuse(kName, {{"x", x}, {"w", w}, {"b", b}},
             "x [..., K], w [N, K] and b [N]");
  }
  return tape;
}

void input_backward(const Tensor& dy, const Var& x, const Var& w) {
  Tape& tape = x.tape();
  Tensor dx = tape.allocate(x.dtype(), x.shape());
  kernels::matmul({.a = dy, .b = w.value(), .c = as_matrix(dx)}, tape.stream());
  tape.add_gradient(x, std::move(dx));
}

void weight_backward(const Tensor& dy, const Var& x, const Var& w) {
  Tape& tape = w.tape();
  const auto slot = tape.gradient_slot(w);
  kernels::matmul({.a = dy,
                   .b = as_matrix(x.value()),
                   .c = slot.tensor,
                   .transpose_a = true,
                   .accumulate = slot.accumulate},
                  tape.stream());
  tape.finish_slot(w, slot);
}

void bias_backward(const Tensor& dy, const Var& b) {
  Tape& tape = b.tape();
  const auto slot = tape.gradient_slot(b);
  kernels::sum_rows({.x = dy, .y = slot.tensor, .accumulate = slot.accumulate},
                    tape.stream());
  tape.finish_slot(b, slot);
}

}  // namespace

Var linear(const Var& x, const Var& w, const Var& b) {
  Tape& tape = checked(x, w, b);
  Tensor y = tape.allocate(x.dtype(), with_last(x.shape(), w.dim(0)));
  kernels::matmul({.a = as_matrix(x.value()),
                   .b = w.value(),
                   .c = as_matrix(y),
                   .bias = b.value(),
                   .transpose_b = true},
                  tape.stream());
  const Var inputs[] = {x, w, b};
  return tape.record(kName, std::move(y), inputs,
                     [x = w.needs_grad() ? x : x.without_value(),
                      w = x.needs_grad() ? w : w.without_value(),
                      b = b.without_value()](const Tensor& dy) {
                       const Tensor rows = as_matrix(dy);
                       if (x.needs_grad()) input_backward(rows, x, w);
                       if (w.needs_grad()) weight_backward(rows, x, w);
                       if (b.needs_grad()) bias_backward(rows, b);
                     });
}

}  // namespace quire::autograd
