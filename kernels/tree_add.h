// Adds nodes of the lane tree: many arrivals, one pass over memory, one fixed
// order of additions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "quire/core/stream.h"
#include "quire/core/tensor.h"

namespace quire::kernels {

// A stack machine run for every element. kPush pushes the next input (widened
// to fp32), kAdd replaces the top two (left below right) by left + right. What
// is on the stack at the end goes to the outputs, the bottom first.
//   leaves 0..3 of one tree:  push push add  push push add  add
enum class TreeStep : std::uint8_t { kPush, kAdd };

inline constexpr std::size_t kMaxTreeInputs = std::size_t{1} << 14;

struct TreeAdd {
  // [n] each, fp32 or bf16, in the order of their lanes.
  std::span<const Tensor> inputs;
  std::span<const TreeStep> steps;  // pushes every input once
  // [n] fp32; an output may be one of the inputs, whole.
  std::span<const Tensor> outputs;
};
// Outputs are apart from each other. Throws UsageError unless the steps fit the
// numbers of inputs and outputs, naming both.
void tree_add(const TreeAdd& args, Stream& stream);

// Every implementation begins with it: UsageError naming the kernel and what it
// got unless the arguments are as above.
void check(const TreeAdd& args);

namespace reference {
void tree_add(const TreeAdd& args, Stream& stream);
}  // namespace reference

}  // namespace quire::kernels
