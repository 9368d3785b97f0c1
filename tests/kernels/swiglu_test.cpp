#include "quire/kernels/swiglu.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/golden.h"
#include "tests/support/tensors.h"

namespace quire::kernels {
namespace {

using namespace quire::testing;

using Forward = void (*)(const SwigluForward&, Stream&);
using Backward = void (*)(const SwigluBackward&, Stream&);

Tensor forward(const Tensor& gate, const Tensor& up, int threads = 2,
               Forward run = swiglu_forward) {
  Cpu cpu(threads);
  const Tensor y = zeros(gate.shape(), gate.dtype());
  run({.gate = gate, .up = up, .y = y}, cpu.stream);
  return y;
}

struct Inputs {
  Tensor dy, gate, up;
};
struct Gradients {
  Tensor gate, up;
};
Gradients backward(const Inputs& in, int threads = 2,
                   Backward run = swiglu_backward) {
  Cpu cpu(threads);
  const Gradients d{zeros(in.gate.shape(), in.gate.dtype()),
                    zeros(in.up.shape(), in.up.dtype())};
  run({.dy = in.dy, .gate = in.gate, .up = in.up, .dgate = d.gate, .dup = d.up},
      cpu.stream);
  return d;
}

Inputs random_inputs(const Shape& shape, DType dtype = DType::kF32) {
  return {random_tensor(shape, 1, dtype), random_tensor(shape, 2, dtype),
          random_tensor(shape, 3, dtype)};
}

Tensor filled(const Shape& shape, float value) {
  return tensor_of(
      std::vector<float>(static_cast<std::size_t>(shape.numel()), value),
      shape);
}

// -20 ... 20 in steps that binary fractions do not hold.
Tensor wide_range() {
  std::vector<float> values;
  for (int i = -2000; i <= 2000; ++i)
    values.push_back(static_cast<float>(i) * 0.01f);
  return tensor_of(values, {static_cast<std::int64_t>(values.size())});
}

TEST(Swiglu, MatchesTheGoldenSilu) {
  const Golden golden("operators");
  const Tensor x = golden.tensor("silu.x");
  const Tensor ones = filled(x.shape(), 1.0f);
  expect_close(forward(x, ones), golden.tensor("silu.y"), 1e-5);
  const Gradients d = backward({golden.tensor("silu.weight_of_y"), x, ones});
  expect_close(d.gate, golden.tensor("silu.grad.x"), 1e-5);
}

TEST(Swiglu, MultipliesByUp) {
  const Tensor gate = tensor_of({0, 0, 40}, {3});  // silu 0, 0, 40
  const Tensor up = tensor_of({3, -2, 0.5f}, {3});
  expect_same_bits(forward(gate, up), tensor_of({0, -0.0f, 20}, {3}));
  const Gradients d = backward({filled({3}, 1.0f), gate, up});
  expect_same_bits(d.gate, tensor_of({1.5f, -1, 0.5f}, {3}));
  expect_same_bits(d.up, tensor_of({0, 0, 40}, {3}));
}

TEST(Swiglu, IsAccurateElementByElement) {
  const Tensor x = wide_range(), ones = filled(x.shape(), 1.0f);
  const auto got = values_of(forward(x, ones));
  const auto expected =
      values_of(forward(x, ones, 1, reference::swiglu_forward));
  const auto slope = values_of(backward({ones, x, ones}).gate);
  const auto true_slope =
      values_of(backward({ones, x, ones}, 1, reference::swiglu_backward).gate);
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], 1e-6 * std::abs(expected[i]));
    ASSERT_NEAR(slope[i], true_slope[i], 1e-6);
  }
}

TEST(Swiglu, EndsAtItsLimits) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor gate = tensor_of({infinity, 1e30f, -1000, NAN}, {4});
  const auto y = values_of(forward(gate, filled({4}, 1.0f)));
  EXPECT_EQ(y[0], infinity);
  EXPECT_EQ(y[1], 1e30f);
  EXPECT_EQ(y[2], 0.0f);
  EXPECT_TRUE(std::isnan(y[3]));
}

TEST(Swiglu, MatchesTheReferenceInBf16) {
  const Inputs in = random_inputs({3, 257}, DType::kBF16);
  expect_close(forward(in.gate, in.up),
               forward(in.gate, in.up, 1, reference::swiglu_forward), 0.004);
  const Gradients got = backward(in);
  const Gradients expected = backward(in, 1, reference::swiglu_backward);
  expect_close(got.gate, expected.gate, 0.004);
  expect_close(got.up, expected.up, 0.004);
}

TEST(Swiglu, GivesTheSameBitsOnAnyNumberOfThreads) {
  const Inputs in = random_inputs({3, 16385});
  expect_same_bits(forward(in.gate, in.up, 3), forward(in.gate, in.up, 1));
  const Gradients one = backward(in, 1), three = backward(in, 3);
  expect_same_bits(three.gate, one.gate);
  expect_same_bits(three.up, one.up);
}

TEST(Swiglu, GivesAnElementTheSameBitsWhereverItStands) {
  const Inputs in = random_inputs({577});
  const Tensor y = forward(in.gate, in.up);
  for (std::int64_t i = 0; i < 40; ++i) {
    const Shape rest{577 - i};
    expect_same_bits(forward(in.gate.range(i, rest), in.up.range(i, rest)),
                     y.range(i, rest));
  }
}

TEST(Swiglu, WritesEitherGradientOverDy) {
  const Inputs in = random_inputs({577});
  const Gradients apart = backward(in);
  Cpu cpu(2);
  for (const bool gate : {true, false}) {
    const Tensor dy = copy_of(in.dy), other = zeros({577});
    swiglu_backward({.dy = dy,
                     .gate = in.gate,
                     .up = in.up,
                     .dgate = gate ? dy : other,
                     .dup = gate ? other : dy},
                    cpu.stream);
    expect_same_bits(gate ? dy : other, apart.gate);
    expect_same_bits(gate ? other : dy, apart.up);
  }
}

TEST(Swiglu, NamesTheShapesThatDoNotFit) {
  const std::string error = usage_error_of([&] {
    forward(zeros({2, 3}), zeros({3, 2}));
  });
  expect_mentions(error, {"swiglu_forward", "up", "[2, 3]", "[3, 2]"});
}

TEST(Swiglu, ComputesNothingOnTheMetaDevice) {
  Cpu meta(2, Device::kMeta);
  const Tensor x = meta.empty(DType::kF32, {5});
  swiglu_forward({.gate = x, .up = x, .y = x}, meta.stream);
  swiglu_backward({.dy = x, .gate = x, .up = x, .dgate = x, .dup = x},
                  meta.stream);
  EXPECT_EQ(meta.scratch_peak(), 0);
}

}  // namespace
}  // namespace quire::kernels
