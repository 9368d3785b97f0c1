// Checks an operation's or a layer's backward against differences of its
// forward: shipped, so that a user's own operation is tested with one call.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "quire/autograd/tape.h"

namespace quire::autograd {

struct GradientCheck {
  // y = f(inputs) on the tape that the inputs carry; called many times with
  // other values; must be deterministic.
  std::function<Var(Tape&, std::span<const Var>)> function;
  // fp32 ones are differentiated, integers are passed through.
  std::vector<Tensor> inputs;
  // fp32; parameter i of the tape, differentiated too.
  std::vector<Tensor> parameters = {};
  double step = 1e-2;  // of the central difference, relative to max(1, |x|)
  double tolerance = 1e-2;  // relative to the largest gradient of the input
  // Of the random weights that turn y into a loss, and of random operations.
  std::uint64_t seed = 1;
};
// Throws UsageError if y is not fp32. Empty if every gradient agrees with
// (f(x + h) - f(x - h)) / 2h; else a line for every input that does not: which
// element, what backward gave, what the difference says.
std::string check_gradients(const GradientCheck& check);

}  // namespace quire::autograd
