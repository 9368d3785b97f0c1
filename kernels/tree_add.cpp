#include "quire/kernels/tree_add.h"

#include <fmt/format.h>

#include "quire/core/error.h"
#include "quire/kernels/detail/arguments.h"

namespace quire::kernels {
namespace {

void check_tensors(const TreeAdd& args) {
  const Tensor& first =
      args.inputs.empty() ? args.outputs.front() : args.inputs.front();
  for (const Tensor& input : args.inputs) {
    require_one_shape("tree_add",
                      {{"the first input", first}, {"input", input}});
    if (!is_compute_type(input.dtype())) {
      refuse("tree_add", "inputs of fp32 or bf16", {{"input", input}});
    }
  }
  for (const Tensor& output : args.outputs) {
    require_one_shape("tree_add",
                      {{"the first input", first}, {"output", output}});
    if (output.dtype() != DType::kF32) {
      refuse("tree_add", "outputs of fp32", {{"output", output}});
    }
  }
}

// Runs the steps on the height of the stack alone.
void check_steps(const TreeAdd& args) {
  std::size_t pushes = 0;
  std::size_t height = 0;
  for (TreeStep step : args.steps) {
    if (step == TreeStep::kPush) {
      ++pushes;
      ++height;
    } else if (height < 2) {
      throw UsageError(fmt::format(
          "tree_add: got an addition with {} on the stack; expected 2",
          height));
    } else {
      --height;
    }
  }
  if (pushes > kMaxTreeInputs) {
    throw UsageError(fmt::format("tree_add: got {} inputs; expected at most {}",
                                 pushes, kMaxTreeInputs));
  }
  if (pushes != args.inputs.size() || height != args.outputs.size()) {
    throw UsageError(
        fmt::format("tree_add: got {} inputs and {} outputs; the steps push {} "
                    "and leave {}",
                    args.inputs.size(), args.outputs.size(), pushes, height));
  }
}

bool overlap(const Tensor& a, const Tensor& b) {
  return a.raw() < b.raw() + b.bytes() && b.raw() < a.raw() + a.bytes();
}

// An output is apart from every other output, and apart from an input or the
// same.
void check_aliases(const TreeAdd& args) {
  for (std::size_t i = 0; i < args.outputs.size(); ++i) {
    const Tensor& output = args.outputs[i];
    for (const Tensor& input : args.inputs) {
      const bool same =
          input.raw() == output.raw() && input.dtype() == output.dtype();
      if (overlap(input, output) && !same) {
        refuse("tree_add", "an output apart from an input, or the same whole",
               {{"input", input}, {"output", output}});
      }
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (overlap(output, args.outputs[j])) {
        refuse("tree_add", "outputs apart from each other",
               {{"output", output}, {"output", args.outputs[j]}});
      }
    }
  }
}

}  // namespace

void check(const TreeAdd& args) {
  check_steps(args);
  if (args.outputs.empty()) return;
  check_tensors(args);
  if (!args.outputs.front().is_meta()) check_aliases(args);
}

}  // namespace quire::kernels
