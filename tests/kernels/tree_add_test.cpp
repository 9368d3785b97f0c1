#include "quire/kernels/tree_add.h"

#include <gtest/gtest.h>

#include <string_view>

#include "tests/support/tensors.h"

namespace quire::kernels {
namespace {

using testing::Cpu;
using testing::tensor_of;

// 'p' pushes, '+' adds.
std::vector<TreeStep> steps_of(std::string_view text) {
  std::vector<TreeStep> steps;
  for (char c : text) {
    steps.push_back(c == 'p' ? TreeStep::kPush : TreeStep::kAdd);
  }
  return steps;
}

using Kernel = void (*)(const TreeAdd&, Stream&);

void run(Kernel kernel, std::string_view steps,
         const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
         int threads = 1) {
  Cpu cpu(threads);
  kernel({.inputs = inputs, .steps = steps_of(steps), .outputs = outputs},
         cpu.stream);
}

TEST(TreeAdd, AddsLeftAndRightInTheGivenOrder) {
  // (2^24 + 1) + 1 stays at 2^24, 2^24 + (1 + 1) does not.
  const Tensor big = tensor_of({0x1p24f}, {1});
  const Tensor one = tensor_of({1.0f}, {1});
  const Tensor y = testing::zeros({1});
  run(tree_add, "pp+p+", {big, one, one}, {y});
  testing::expect_all(y, 0x1p24f);
  run(tree_add, "ppp++", {big, one, one}, {y});
  testing::expect_all(y, 0x1p24f + 2);
}

TEST(TreeAdd, LeavesTheStackBottomFirst) {
  const Tensor a = testing::zeros({1}), b = testing::zeros({1});
  run(tree_add, "pp+p",
      {tensor_of({1}, {1}), tensor_of({2}, {1}), tensor_of({5}, {1})}, {a, b});
  testing::expect_all(a, 3);
  testing::expect_all(b, 5);
}

enum class Types { kF32, kBF16, kMixed };

struct Form {
  std::string_view steps;
  int inputs;
  int outputs;
  Types types = Types::kMixed;

  DType type_of(int input) const {
    if (types == Types::kMixed && input % 3 != 1) return DType::kF32;
    return types == Types::kF32 ? DType::kF32 : DType::kBF16;
  }
};
constexpr Form kForms[] = {{"p", 1, 1},          {"pp+", 2, 1},
                           {"pp+p+", 3, 1},      {"pp+pp++", 4, 1},
                           {"pp+pp++pp+", 6, 2}, {"ppp", 3, 3},
                           {"pp+ppp+pp+", 7, 4}, {"pppppppp+++++++", 8, 1}};

std::vector<Tensor> inputs_of(const Form& form, std::int64_t n) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < form.inputs; ++i) {
    const auto key = static_cast<std::uint64_t>(i + 1);
    inputs.push_back(testing::random_tensor({n}, key, form.type_of(i)));
  }
  return inputs;
}

std::vector<Tensor> outputs_of(const Form& form, std::int64_t n) {
  std::vector<Tensor> outputs;
  for (int i = 0; i < form.outputs; ++i) outputs.push_back(testing::zeros({n}));
  return outputs;
}

void expect_equal(const std::vector<Tensor>& got,
                  const std::vector<Tensor>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    testing::expect_same_bits(got[i], expected[i]);
  }
}

TEST(TreeAdd, EqualsTheReferenceAtAnyLengthAndThreads) {
  for (const Form& form : kForms) {
    for (std::int64_t n : {0, 1, 17, 1024, 40001}) {
      const std::vector<Tensor> inputs = inputs_of(form, n);
      const std::vector<Tensor> expected = outputs_of(form, n);
      run(reference::tree_add, form.steps, inputs, expected);
      for (int threads : {1, 2, 3}) {
        const std::vector<Tensor> got = outputs_of(form, n);
        run(tree_add, form.steps, inputs, got, threads);
        expect_equal(got, expected);
      }
    }
  }
}

// Whatever fp32 input an output is laid over, the sums are of the old values.
TEST(TreeAdd, MayOverwriteAnyInput) {
  constexpr std::int64_t kLength = 3001;
  for (const Form& form : kForms) {
    const std::vector<Tensor> inputs = inputs_of(form, kLength);
    const std::vector<Tensor> expected = outputs_of(form, kLength);
    run(reference::tree_add, form.steps, inputs, expected);
    for (int over = 0; over < form.inputs; ++over) {
      std::vector<Tensor> own = inputs_of(form, kLength);
      std::vector<Tensor> outputs = outputs_of(form, kLength);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const std::size_t input =
            (static_cast<std::size_t>(over) + i) % own.size();
        if (own[input].dtype() == DType::kF32) outputs[i] = own[input];
      }
      run(tree_add, form.steps, own, outputs);
      expect_equal(outputs, expected);
    }
  }
}

TEST(TreeAdd, SwapsTwoTensors) {
  const Tensor a = tensor_of({1, 2}, {2}), b = tensor_of({3, 4}, {2});
  run(tree_add, "pp", {a, b}, {b, a});
  testing::expect_same_bits(a, tensor_of({3, 4}, {2}));
  testing::expect_same_bits(b, tensor_of({1, 2}, {2}));
}

TEST(TreeAdd, TakesHundredsOfInputs) {
  const Tensor one = tensor_of({1.0f, 2.0f}, {2});
  const Tensor y = testing::zeros({2});
  const std::vector<Tensor> inputs(600, one);
  run(tree_add, std::string(600, 'p') + std::string(599, '+'), inputs, {y});
  testing::expect_same_bits(y, tensor_of({600.0f, 1200.0f}, {2}));
}

TEST(TreeAdd, RefusesStepsThatDoNotFit) {
  const Tensor x = testing::zeros({4}), y = testing::zeros({4});
  const auto message = [&](std::string_view steps) {
    return testing::usage_error_of([&] { run(tree_add, steps, {x, x}, {y}); });
  };
  testing::expect_mentions(message("p+p"), {"tree_add", "expected 2"});
  testing::expect_mentions(message("pp"), {"2 inputs and 1 outputs"});
  testing::expect_mentions(message("pp+p+"), {"push 3"});
}

TEST(TreeAdd, RefusesShapesTypesAndPartialOverlaps) {
  const Tensor x = testing::zeros({4}), y = testing::zeros({5});
  const auto message = [](const Tensor& a, const Tensor& out) {
    return testing::usage_error_of([&] { run(tree_add, "p", {a}, {out}); });
  };
  testing::expect_mentions(message(x, y), {"fp32 [4]", "fp32 [5]"});
  testing::expect_mentions(message(x, testing::zeros({4}, DType::kBF16)),
                           {"outputs of fp32"});
  testing::expect_mentions(message(y.range(0, 4), y.range(1, 4)), {"apart"});
}

TEST(TreeAdd, RunsOnABackgroundStream) {
  Cpu cpu;
  Stream stream(Stream::Kind::kBackground, "reduce", cpu.pool, cpu.allocator);
  const Tensor y = testing::zeros({1});
  {
    const std::vector<Tensor> inputs(2, tensor_of({1.5f}, {1}));
    const std::vector<Tensor> outputs{y};
    tree_add({.inputs = inputs, .steps = steps_of("pp+"), .outputs = outputs},
             stream);
  }
  stream.synchronize();
  testing::expect_all(y, 3.0f);
}

}  // namespace
}  // namespace quire::kernels
