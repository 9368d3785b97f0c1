// Operations whose result is a part of their input or the whole of it under
// another shape: a view, except of a parameter, whose memory is only lent.
#include <fmt/format.h>

#include "quire/autograd/arguments.h"
#include "quire/autograd/operations.h"
#include "quire/kernels/elementwise.h"

namespace quire::autograd {
namespace {

Tensor kept(const Var& x, const Tensor& view) {
  if (!x.is_parameter()) return view;
  Tensor copy = x.tape().allocate(view.dtype(), view.shape());
  kernels::cast({.x = view, .y = copy}, x.tape().stream());
  return copy;
}

Shape with_first(const Shape& shape, std::int64_t first) {
  std::vector<std::int64_t> extents(shape.extents().begin(),
                                    shape.extents().end());
  extents.front() = first;
  return Shape(std::span<const std::int64_t>(extents));
}

// gradient's elements from `begin` on (+)= dy, all others zero unless they
// accumulate.
void add_into(const ParameterSource::Gradient& gradient, std::int64_t begin,
              const Tensor& dy, Tape& tape) {
  const Tensor part = gradient.tensor.range(begin, dy.shape());
  if (!gradient.accumulate) {
    kernels::fill({.y = gradient.tensor, .value = 0.0f}, tape.stream());
    kernels::cast({.x = dy, .y = part}, tape.stream());
    return;
  }
  Tensor widened = dy;
  if (dy.dtype() != DType::kF32) {
    widened = tape.allocate(DType::kF32, dy.shape());
    kernels::cast({.x = dy, .y = widened}, tape.stream());
  }
  kernels::add({.a = part, .b = widened, .y = part}, tape.stream());
}

}  // namespace

Var reshape(const Var& x, const Shape& shape) {
  Tape& tape = tape_of("reshape", {{"x", x}});
  if (shape.numel() != x.shape().numel())
    refuse("reshape", {{"x", x}},
           fmt::format("as many elements as {}", shape.to_string()));
  return tape.record("reshape", kept(x, x.value().view(shape)),
                     std::span(&x, 1),
                     [x = x.without_value()](const Tensor& dy) {
                       x.tape().add_gradient(x, dy.view(x.shape()));
                     });
}

Var rows(const Var& x, std::int64_t begin, std::int64_t count) {
  Tape& tape = compute_tape_of("rows", {{"x", x}});
  if (x.shape().rank() < 1 || begin < 0 || count < 0 ||
      count > x.dim(0) - begin)
    refuse("rows", {{"x", x}},
           fmt::format("at least {} + {} rows", begin, count));
  const Shape shape = with_first(x.shape(), count);
  const std::int64_t first = begin * with_first(x.shape(), 1).numel();
  return tape.record("rows", kept(x, x.value().range(first, shape)),
                     std::span(&x, 1),
                     [first, x = x.without_value()](const Tensor& dy) {
                       Tape& tape = x.tape();
                       const auto slot = tape.gradient_slot(x);
                       add_into(slot, first, dy, tape);
                       tape.finish_slot(x, slot);
                     });
}

}  // namespace quire::autograd
