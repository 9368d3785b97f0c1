#include "quire/kernels/elementwise.h"

#include "quire/autograd/arguments.h"
#include "quire/autograd/operations.h"

namespace quire::autograd {
namespace {

Tape& checked_pair(std::string_view name, const Var& a, const Var& b) {
  Tape& tape = compute_tape_of(name, {{"a", a}, {"b", b}});
  if (!(a.shape() == b.shape()))
    refuse(name, {{"a", a}, {"b", b}}, "equal shapes");
  return tape;
}

void add_product(const Var& to, const Tensor& dy, const Var& other) {
  Tape& tape = to.tape();
  Tensor dx = tape.allocate(to.dtype(), to.shape());
  kernels::multiply({.a = dy, .b = other.value(), .y = dx}, tape.stream());
  tape.add_gradient(to, std::move(dx));
}

Tape& checked_rows(const Var& x, const Var& b) {
  const Arguments args = {{"x", x}, {"b", b}};
  Tape& tape = compute_tape_of("add_rows", args);
  const int rank = b.shape().rank();
  bool fits = (rank == 1 || rank == 2) && x.shape().rank() >= rank;
  for (int i = 1; fits && i <= rank; ++i) fits = x.dim(-i) == b.dim(-i);
  if (!fits)
    refuse("add_rows", args,
           "x [..., C] and b [C], or x [..., R, C] and b [R, C]");
  return tape;
}

void row_backward(const Var& b, const Tensor& dy) {
  Tape& tape = b.tape();
  const auto slot = tape.gradient_slot(b);
  kernels::add_rows_backward({.dy = as_matrix(dy),
                              .db = as_matrix(slot.tensor),
                              .accumulate = slot.accumulate},
                             tape.stream());
  tape.finish_slot(b, slot);
}

}  // namespace

Var add(const Var& a, const Var& b) {
  Tape& tape = checked_pair("add", a, b);
  Tensor y = tape.allocate(a.dtype(), a.shape());
  kernels::add({.a = a.value(), .b = b.value(), .y = y}, tape.stream());
  const Var inputs[] = {a, b};
  return tape.record(
      "add", std::move(y), inputs,
      [a = a.without_value(), b = b.without_value()](const Tensor& dy) {
        if (a.needs_grad()) a.tape().add_gradient(a, dy);
        if (b.needs_grad()) b.tape().add_gradient(b, dy);
      });
}

Var multiply(const Var& a, const Var& b) {
  Tape& tape = checked_pair("multiply", a, b);
  Tensor y = tape.allocate(a.dtype(), a.shape());
  kernels::multiply({.a = a.value(), .b = b.value(), .y = y}, tape.stream());
  const Var inputs[] = {a, b};
  return tape.record(
      "multiply", std::move(y), inputs,
      [a = b.needs_grad() ? a : a.without_value(),
       b = a.needs_grad() ? b : b.without_value()](const Tensor& dy) {
        if (a.needs_grad()) add_product(a, dy, b);
        if (b.needs_grad()) add_product(b, dy, a);
      });
}

Var scale(const Var& x, float factor) {
  Tape& tape = compute_tape_of("scale", {{"x", x}});
  Tensor y = tape.allocate(x.dtype(), x.shape());
  kernels::scale({.x = x.value(), .y = y, .factor = factor}, tape.stream());
  return tape.record("scale", std::move(y), std::span(&x, 1),
                     [factor, x = x.without_value()](const Tensor& dy) {
                       Tape& tape = x.tape();
                       Tensor dx = tape.allocate(x.dtype(), x.shape());
                       kernels::scale({.x = dy, .y = dx, .factor = factor},
                                      tape.stream());
                       tape.add_gradient(x, std::move(dx));
                     });
}

Var add_rows(const Var& x, const Var& b) {
  Tape& tape = checked_rows(x, b);
  Tensor y = tape.allocate(x.dtype(), x.shape());
  kernels::add_rows(
      {.x = as_matrix(x.value()), .b = as_matrix(b.value()), .y = as_matrix(y)},
      tape.stream());
  const Var inputs[] = {x, b};
  return tape.record(
      "add_rows", std::move(y), inputs,
      [x = x.without_value(), b = b.without_value()](const Tensor& dy) {
        if (b.needs_grad()) row_backward(b, dy);
        if (x.needs_grad()) x.tape().add_gradient(x, dy);
      });
}

}  // namespace quire::autograd
