// How operations look at their arguments and refuse wrong ones.
#pragma once

#include <initializer_list>
#include <string_view>

#include "quire/autograd/tape.h"
#include "quire/autograd/variable.h"

namespace quire::autograd {

struct Argument {
  std::string_view name;
  const Var& var;
};
using Arguments = std::initializer_list<Argument>;

// Throws UsageError: layer "h.0", OPERATION: got x fp32 [2, 3], ids i32 [4];
// expected EXPECTED.
[[noreturn]] void refuse(std::string_view operation, Arguments got,
                         std::string_view expected);
// Their tape. Refuses unless all are defined and of one tape.
Tape& tape_of(std::string_view operation, Arguments args);
// The same, and that all are fp32, or all bf16.
Tape& compute_tape_of(std::string_view operation, Arguments args);

// Refuses unless `value`, an option that is called `what`, is in [0, 1).
void require_fraction(std::string_view operation, Arguments got,
                      std::string_view what, float value);

// The product of all extents but the last. REQUIRES: rank >= 1.
std::int64_t rows_of(const Shape& shape);
// `shape` with its last extent replaced.
Shape with_last(const Shape& shape, std::int64_t last);
// x as [rows, last extent].
Tensor as_matrix(const Tensor& x);
// The only element of a [1] fp32 tensor; 1 on the meta device.
float scalar_of(const Tensor& x);

}  // namespace quire::autograd
