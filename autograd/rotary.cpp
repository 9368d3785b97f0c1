#include "quire/kernels/rotary.h"

#include <fmt/format.h>

#include "quire/autograd/arguments.h"
#include "quire/autograd/operations.h"

namespace quire::autograd {
namespace {

using Direction = kernels::Rotary::Direction;

Tape& checked(const Var& x, std::span<const float> frequencies) {
  Tape& tape = compute_tape_of("rotary", {{"x", x}});
  const auto width = 2 * std::ssize(frequencies);
  if (x.shape().rank() != 3 || width == 0 || x.dim(2) % width != 0)
    refuse("rotary", {{"x", x}},
           fmt::format("[B, T, H D] and D / 2 frequencies, not {} of them",
                       std::ssize(frequencies)));
  return tape;
}

}  // namespace

Var rotary(const Var& x, std::span<const float> frequencies) {
  Tape& tape = checked(x, frequencies);
  Tensor y = tape.allocate(x.dtype(), x.shape());
  kernels::rotary({.x = x.value(), .y = y, .frequencies = frequencies},
                  tape.stream());
  return tape.record("rotary", std::move(y), std::span(&x, 1),
                     [frequencies, x = x.without_value()](const Tensor& dy) {
                       Tensor dx = x.tape().allocate(x.dtype(), x.shape());
                       kernels::rotary({.x = dy,
                                        .y = dx,
                                        .frequencies = frequencies,
                                        .direction = Direction::kBackward},
                                       x.tape().stream());
                       x.tape().add_gradient(x, std::move(dx));
                     });
}

}  // namespace quire::autograd
