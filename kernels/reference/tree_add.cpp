#include "quire/kernels/tree_add.h"

#include <vector>

#include "quire/kernels/detail/element_types.h"

namespace quire::kernels::reference {
namespace {

struct Job {
  explicit Job(const TreeAdd& args)
      : inputs(args.inputs.begin(), args.inputs.end()),
        steps(args.steps.begin(), args.steps.end()),
        outputs(args.outputs.begin(), args.outputs.end()) {}

  std::vector<Tensor> inputs;
  std::vector<TreeStep> steps;
  std::vector<Tensor> outputs;
};

// What is on the stack at the end, for element e.
std::vector<float> run(const Job& job, std::int64_t e) {
  std::vector<float> stack;
  auto input = job.inputs.begin();
  for (TreeStep step : job.steps) {
    if (step == TreeStep::kPush) {
      visit_compute_type(input->dtype(), [&]<class T>(T) {
        stack.push_back(static_cast<float>(input->data<T>()[e]));
      });
      ++input;
    } else {
      const float right = stack.back();
      stack.pop_back();
      stack.back() += right;
    }
  }
  return stack;
}

}  // namespace

void tree_add(const TreeAdd& args, Stream& stream) {
  check(args);
  if (args.outputs.empty() || args.outputs.front().is_meta()) return;
  stream.submit([job = Job(args)] {
    for (std::int64_t e = 0; e < job.outputs.front().numel(); ++e) {
      const std::vector<float> values = run(job, e);
      for (std::size_t i = 0; i < values.size(); ++i) {
        job.outputs[i].data<float>()[e] = values[i];
      }
    }
  });
}

}  // namespace quire::kernels::reference
