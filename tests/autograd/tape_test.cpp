#include "quire/autograd/tape.h"

#include <gtest/gtest.h>

#include "quire/autograd/operations.h"
#include "quire/kernels/elementwise.h"
#include "tests/support/parameters.h"

namespace quire::autograd {
namespace {

using namespace quire::testing;

// A tape and all that it needs; parameter 0 is [2, 2], parameter 1 is [2].
struct OnTape {
  explicit OnTape(Device device = Device::kCpu,
                  Tape::Mode mode = Tape::Mode::kTraining)
      : cpu(1, device),
        parameters({value({2, 2}, 1), value({2}, 2)}, cpu.allocator),
        tape({.stream = &cpu.stream,
              .allocator = &cpu.allocator,
              .parameters = &parameters,
              .mode = mode,
              .seed = 7,
              .step = 3,
              .lane = 2}) {
    tape.enter("layer");
  }
  Tensor value(const Shape& shape, std::uint64_t key) {
    return cpu.allocator.device() == Device::kMeta
               ? cpu.empty(DType::kF32, shape)
               : random_tensor(shape, key);
  }
  Var leaf(const Shape& shape, std::uint64_t key = 9) {
    return tape.leaf(value(shape, key), Tape::Grad::kYes);
  }
  void backward(const Var& y, Tensor dy) {
    tape.backward(std::span(&y, 1), std::span(&dy, 1));
  }
  std::int64_t activations() const {
    return cpu.allocator.report()
        .current[static_cast<std::size_t>(Category::kActivations)];
  }

  std::int64_t peak_activations() const {
    return cpu.allocator.report()
        .peak[static_cast<std::size_t>(Category::kActivations)];
  }

  Cpu cpu;
  PlainParameters parameters;
  Tape tape;
};

const Tensor kOne = tensor_of({1}, {1});

TEST(Tape, GivesALeafThatIsItselfAnOutputItsSeed) {
  OnTape t;
  const Var x = t.leaf({2});
  t.backward(x, tensor_of({3, 4}, {2}));
  expect_same_bits(t.tape.gradient(x), tensor_of({3, 4}, {2}));
}

TEST(Tape, AddsWhatReachesALeafDirectlyAndThroughOperations) {
  OnTape t;
  const Var x = t.leaf({2});
  const Var outputs[] = {x, scale(x, 10)};
  const Tensor seeds[] = {tensor_of({1, 2}, {2}), tensor_of({3, 4}, {2})};
  t.tape.backward(outputs, seeds);
  expect_same_bits(t.tape.gradient(x), tensor_of({31, 42}, {2}));
}

TEST(Tape, NeverWritesIntoASharedSeed) {
  OnTape t;
  const Var x = t.leaf({2});
  const Tensor seed = tensor_of({1, 2}, {2});
  const Var outputs[] = {x, x + x};
  const Tensor seeds[] = {seed, seed};
  t.tape.backward(outputs, seeds);
  expect_same_bits(seed, tensor_of({1, 2}, {2}));
  expect_same_bits(t.tape.gradient(x), tensor_of({3, 6}, {2}));
}

TEST(Tape, CountsAnUndefinedSeedAsZero) {
  OnTape t;
  const Var x = t.leaf({2}), y = t.leaf({2});
  const Var outputs[] = {scale(x, 2), scale(y, 2)};
  const Tensor seeds[] = {tensor_of({1, 1}, {2}), {}};
  t.tape.backward(outputs, seeds);
  expect_all(t.tape.gradient(x), 2.0f);
  EXPECT_FALSE(t.tape.gradient(y).defined());
}

TEST(Tape, LetsGradientsOfAParameterArriveInItsSource) {
  OnTape t;
  const Var w = t.tape.parameter(1);
  t.backward(sum(w), kOne);
  expect_all(t.parameters.gradient_of(1), 1.0f);
  EXPECT_FALSE(t.parameters.gradient_of(0).defined());
}

TEST(Tape, AddsEveryUseOfAParameter) {
  OnTape t;
  // 1 from one side and 2 from the other.
  t.backward(sum(t.tape.parameter(1)) + scale(sum(t.tape.parameter(1)), 2),
             kOne);
  expect_all(t.parameters.gradient_of(1), 3.0f);
}

TEST(Tape, TakesAParameterAsAnOutput) {
  OnTape t;
  t.backward(t.tape.parameter(1), tensor_of({5, 6}, {2}));
  expect_same_bits(t.parameters.gradient_of(1), tensor_of({5, 6}, {2}));
}

TEST(Tape, LeavesFrozenParametersAlone) {
  OnTape t;
  t.parameters.freeze(0);
  const Var w = t.tape.parameter(0);
  EXPECT_FALSE(w.needs_grad());
  const Var x = t.leaf({3, 2});
  t.backward(sum(linear(x, w, t.tape.parameter(1))), kOne);
  EXPECT_EQ(t.parameters.contributions(), 1);
  EXPECT_TRUE(t.tape.gradient(x).defined());
}

TEST(Tape, ComputesNoGradientOfInputsThatNeedNone) {
  OnTape t;
  const Var x = t.tape.leaf(random_tensor({3, 2}, 1));
  t.backward(sum(linear(x, t.tape.parameter(0))), kOne);
  EXPECT_EQ(t.parameters.contributions(), 1);
  EXPECT_FALSE(t.tape.gradient(x).defined());
}

TEST(Tape, NeedsNoGradientOfParametersInEvaluation) {
  OnTape t(Device::kCpu, Tape::Mode::kEvaluation);
  EXPECT_FALSE(t.tape.parameter(0).needs_grad());
}

TEST(Tape, AsksForAParametersPlaceAgainInTheBackward) {
  OnTape t;
  const Var x = t.leaf({1, 2});
  const Var y = linear(x, t.tape.parameter(0));
  // The unit was released after the forward and gathered elsewhere.
  t.parameters.set(0, tensor_of({1, 2, 3, 4}, {2, 2}));
  t.backward(y, tensor_of({1, 1}, {1, 2}));
  expect_same_bits(t.tape.gradient(x), tensor_of({4, 6}, {1, 2}));
}

TEST(Tape, HoldsNoParameterBetweenForwardAndBackward) {
  OnTape t;
  const Var x = t.leaf({2, 2});
  const Var y = reshape(t.tape.parameter(0), {4}) * reshape(x, {4}) +
                reshape(linear(x, t.tape.parameter(0)), {4}) +
                reshape(rows(t.tape.parameter(0), 0, 2), {4});
  const Tensor value = t.parameters.value(0);
  t.parameters.set(0, random_tensor({2, 2}, 5));
  EXPECT_TRUE(value.unique());
  t.backward(y, random_tensor({4}, 6));
  EXPECT_EQ(t.parameters.contributions(), 3);
}

TEST(Tape, FreesWhatNoBackwardReads) {
  OnTape t;
  const Var x = t.leaf({64});
  Var y = x;
  const std::int64_t before = t.activations();
  for (int i = 0; i < 10; ++i) y = scale(y + x, 0.5f);
  EXPECT_EQ(t.activations() - before, 64 * 4);  // y alone
}

TEST(Tape, DropsWhatItHoldsAsTheBackwardProceeds) {
  OnTape t;
  {
    const Var x = t.leaf({64});
    Var y = gelu(gelu(gelu(x)));
    y = Var();
    EXPECT_EQ(t.activations(), 2 * 64 * 4);  // read by the second and third
  }
  Var y = gelu(t.leaf({64}));
  t.backward(y, random_tensor({64}, 1));
  y = Var();
  EXPECT_EQ(t.activations(), 64 * 4);  // the leaf's gradient
}

TEST(Tape, AllocatesOnTheMetaDeviceWhatItAllocatesOnTheCpu) {
  const auto run = [](Device device) {
    OnTape t(device);
    const Tensor values = t.cpu.empty(DType::kF32, {8, 6, 2});
    const Tensor seed = t.cpu.empty(DType::kF32, {1});
    kernels::fill({.y = values, .value = 0.5f}, t.cpu.stream);
    kernels::fill({.y = seed, .value = 1.0f}, t.cpu.stream);
    t.cpu.allocator.reset_peak();
    const std::int64_t before = t.activations();
    const Var x = t.tape.leaf(values, Tape::Grad::kYes);
    const Var h = layer_norm(gelu(linear(x, t.tape.parameter(0))),
                             t.tape.parameter(1), t.tape.parameter(1));
    t.backward(sum(dropout(h + x, 0.5f)), seed);
    return t.peak_activations() - before;
  };
  EXPECT_EQ(run(Device::kMeta), run(Device::kCpu));
}

TEST(Tape, CountsElementsBeyond32Bits) {
  OnTape t(Device::kMeta);
  constexpr std::int64_t kRows = 65536, kWidth = 32769;
  const Var x = t.leaf({kRows, kWidth});
  const Var last = rows(gelu(x), kRows - 1, 1);
  EXPECT_EQ(reshape(x, {kRows * kWidth}).dim(0), 2147549184);
  t.backward(sum(last), t.cpu.empty(DType::kF32, {1}));
  EXPECT_EQ(t.tape.gradient(x).bytes(), 2147549184 * 4);
}

TEST(Tape, OverwritesLogitsThatNobodyElseReads) {
  OnTape t;
  Var y =
      cross_entropy_sum(scale(t.leaf({4, 64}), 2), ids_of({1, 2, 3, 4}, {4}));
  t.cpu.allocator.reset_peak();
  const std::int64_t before = t.activations();
  t.backward(y, kOne);
  // The gradient of scale's input is born; what the loss saved for every row is
  // gone by then.
  EXPECT_EQ(t.peak_activations() - before, 4 * 64 * 4 - 64);
}

TEST(Tape, LeavesLogitsThatAreReadAlone) {
  OnTape t;
  const Var logits = scale(t.leaf({2, 8}), 2);
  const Tensor before = copy_of(logits.value());
  t.backward(cross_entropy_sum(logits, ids_of({1, 2}, {2})), kOne);
  expect_same_bits(logits.value(), before);
}

TEST(Tape, KeysRandomNumbersByLayerAndOperation) {
  OnTape t;
  const RandomKey first = t.tape.next_key();
  EXPECT_EQ(first.key, random_key(7, "layer", 0));
  EXPECT_EQ(first.lane, 2u);
  EXPECT_EQ(first.step, 3u);
  EXPECT_EQ(t.tape.next_key().key, random_key(7, "layer", 1));
}

TEST(Tape, DrawsTheSameMaskWhenALayerRunsAgain) {
  OnTape t;
  const Var x = t.leaf({64});
  const Tensor first = dropout(x, 0.5f).value();
  t.tape.enter("other");
  const Tensor other = dropout(x, 0.5f).value();
  t.tape.enter("layer");
  expect_same_bits(dropout(x, 0.5f).value(), first);
  EXPECT_NE(values_of(other), values_of(first));
}

TEST(Tape, CountsNoOperationThatDrawsNothing) {
  OnTape t;
  dropout(t.leaf({4}), 0.0f);
  EXPECT_EQ(t.tape.next_key().key, random_key(7, "layer", 0));
}

TEST(Tape, TellsItsObserverOfEveryResult) {
  OnTape t;
  std::vector<std::string> seen;
  t.tape.observe([&](std::string_view layer, std::string_view operation,
                     const Tensor& result) {
    seen.push_back(std::string(layer) + " " + std::string(operation) + " " +
                   result.shape().to_string());
  });
  sum(gelu(t.leaf({4})));
  EXPECT_EQ(seen,
            (std::vector<std::string>{"layer gelu [4]", "layer sum [1]"}));
}

TEST(Tape, GivesGradientsOfActivationsInTheirType) {
  OnTape t;
  t.parameters.set(0, random_tensor({2, 2}, 1, DType::kBF16));
  const Var x =
      t.tape.leaf(random_tensor({3, 2}, 2, DType::kBF16), Tape::Grad::kYes);
  t.backward(sum(linear(x, t.tape.parameter(0))), kOne);
  EXPECT_EQ(t.tape.gradient(x).dtype(), DType::kBF16);
  EXPECT_EQ(t.parameters.gradient_of(0).dtype(), DType::kF32);
}

TEST(Tape, RoundsGradientsOfComputedWeightsToTheirType) {
  OnTape t;
  const Var w =
      t.tape.leaf(tensor_of({1, 2}, {1, 2}, DType::kBF16), Tape::Grad::kYes);
  const Var x = t.tape.leaf(tensor_of({3, 4}, {1, 2}, DType::kBF16));
  t.backward(linear(x, scale(w, 2)), tensor_of({1}, {1, 1}, DType::kBF16));
  expect_same_bits(t.tape.gradient(w), tensor_of({6, 8}, {1, 2}, DType::kBF16));
}

TEST(Tape, AddsTheRowsOfAParameterInBf16) {
  OnTape t;
  t.parameters.set(0, random_tensor({2, 2}, 1, DType::kBF16));
  const Var w = t.tape.parameter(0);
  const Var outputs[] = {rows(w, 0, 1), rows(w, 1, 1), rows(w, 0, 2)};
  const Tensor seeds[] = {tensor_of({1, 2}, {1, 2}, DType::kBF16),
                          tensor_of({3, 4}, {1, 2}, DType::kBF16),
                          tensor_of({5, 5, 5, 5}, {2, 2}, DType::kBF16)};
  t.tape.backward(outputs, seeds);
  expect_same_bits(t.parameters.gradient_of(0),
                   tensor_of({6, 7, 8, 9}, {2, 2}));
}

TEST(Tape, ServesOneBackward) {
  OnTape t;
  const Var y = sum(t.leaf({2}));
  t.backward(y, kOne);
  expect_mentions(usage_error_of([&] { t.backward(y, kOne); }),
                  {"\"layer\"", "once"});
}

TEST(Tape, RefusesVariablesOfAnother) {
  OnTape t, other;
  other.tape.enter("elsewhere");
  expect_mentions(usage_error_of([&] { t.leaf({2}) + other.leaf({2}); }),
                  {"one tape"});
}

TEST(Tape, RefusesAGradientOfAnotherShape) {
  OnTape t;
  const Var x = t.leaf({2});
  expect_mentions(usage_error_of([&] { t.backward(x, zeros({3})); }),
                  {"[3]", "[2]"});
}

TEST(Tape, SaysThatItHasNoParameters) {
  Cpu cpu;
  Tape tape({.stream = &cpu.stream, .allocator = &cpu.allocator});
  tape.enter("head");
  expect_mentions(usage_error_of([&] { tape.parameter(4); }),
                  {"\"head\"", "parameter 4"});
}

}  // namespace
}  // namespace quire::autograd
