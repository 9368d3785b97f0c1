#include "quire/kernels/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/golden.h"
#include "tests/support/tensors.h"

namespace quire::kernels {
namespace {

using namespace quire::testing;

constexpr Activation kAll[] = {Activation::kGeluTanh, Activation::kGeluErf,
                               Activation::kRelu};

Tensor forward(Activation kind, const Tensor& x, int threads = 2) {
  Cpu cpu(threads);
  const Tensor y = zeros(x.shape(), x.dtype());
  activation_forward({.kind = kind, .x = x, .y = y}, cpu.stream);
  return y;
}

Tensor backward(Activation kind, const Tensor& x, const Tensor& dy,
                int threads = 2) {
  Cpu cpu(threads);
  const Tensor dx = zeros(x.shape(), x.dtype());
  activation_backward({.kind = kind, .dy = dy, .x = x, .dx = dx}, cpu.stream);
  return dx;
}

Tensor reference_forward(Activation kind, const Tensor& x) {
  Cpu cpu;
  const Tensor y = zeros(x.shape(), x.dtype());
  reference::activation_forward({.kind = kind, .x = x, .y = y}, cpu.stream);
  return y;
}

Tensor reference_backward(Activation kind, const Tensor& x, const Tensor& dy) {
  Cpu cpu;
  const Tensor dx = zeros(x.shape(), x.dtype());
  reference::activation_backward({.kind = kind, .dy = dy, .x = x, .dx = dx},
                                 cpu.stream);
  return dx;
}

// -20 ... 20 in steps that binary fractions do not hold.
Tensor wide_range(DType dtype = DType::kF32) {
  std::vector<float> values;
  for (int i = -2000; i <= 2000; ++i)
    values.push_back(static_cast<float>(i) * 0.01f);
  return tensor_of(values, {static_cast<std::int64_t>(values.size())}, dtype);
}

void expect_golden(const std::string& name, Activation kind) {
  const Golden golden("operators");
  const Tensor x = golden.tensor(name + ".x");
  expect_close(forward(kind, x), golden.tensor(name + ".y"), 1e-5);
  expect_close(backward(kind, x, golden.tensor(name + ".weight_of_y")),
               golden.tensor(name + ".grad.x"), 1e-5);
}

TEST(Activation, MatchesTheGoldenGeluTanh) {
  expect_golden("gelu_tanh", Activation::kGeluTanh);
}

TEST(Activation, MatchesTheGoldenGeluErf) {
  expect_golden("gelu_erf", Activation::kGeluErf);
}

TEST(Activation, ReluKeepsWhatIsPositive) {
  const Tensor x = tensor_of({-2, 0, 3}, {3});
  const Tensor dy = tensor_of({5, 6, 7}, {3});
  expect_same_bits(forward(Activation::kRelu, x), tensor_of({0, 0, 3}, {3}));
  expect_same_bits(backward(Activation::kRelu, x, dy),
                   tensor_of({0, 0, 7}, {3}));
}

TEST(Activation, IsAccurateElementByElement) {
  const Tensor x = wide_range();
  for (const Activation kind : kAll) {
    const auto got = values_of(forward(kind, x));
    const auto expected = values_of(reference_forward(kind, x));
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], expected[i], 1e-6 * std::abs(expected[i]) + 1e-7)
          << "at " << values_of(x)[i];
    }
  }
}

TEST(Activation, HasAnAccurateDerivative) {
  const Tensor x = wide_range();
  const Tensor dy = tensor_of(
      std::vector<float>(static_cast<std::size_t>(x.numel()), 1.0f), x.shape());
  for (const Activation kind : kAll) {
    const auto got = values_of(backward(kind, x, dy));
    const auto expected = values_of(reference_backward(kind, x, dy));
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], expected[i], 1e-6) << "at " << values_of(x)[i];
  }
}

TEST(Activation, EndsAtItsLimits) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = tensor_of({infinity, 1e30f, NAN}, {3});
  for (const Activation kind : kAll) {
    const auto y = values_of(forward(kind, x));
    EXPECT_EQ(y[0], infinity);
    EXPECT_EQ(y[1], 1e30f);
    EXPECT_TRUE(std::isnan(y[2]));
    EXPECT_EQ(values_of(forward(kind, tensor_of({-1000}, {1})))[0], 0.0f);
  }
}

TEST(Activation, RoundsBf16Once) {
  const Tensor x = wide_range(DType::kBF16);
  const Tensor dy = random_tensor(x.shape(), 1, DType::kBF16);
  for (const Activation kind : kAll) {
    expect_close(forward(kind, x), reference_forward(kind, x), 0.004);
    expect_close(backward(kind, x, dy), reference_backward(kind, x, dy), 0.004);
  }
}

TEST(Activation, GivesTheSameBitsOnAnyNumberOfThreads) {
  const Tensor x = random_tensor({3, 16385}, 1);
  const Tensor dy = random_tensor({3, 16385}, 2);
  for (const Activation kind : kAll) {
    expect_same_bits(forward(kind, x, 3), forward(kind, x, 1));
    expect_same_bits(backward(kind, x, dy, 3), backward(kind, x, dy, 1));
  }
}

TEST(Activation, GivesAnElementTheSameBitsWhereverItStands) {
  const Tensor x = random_tensor({257}, 1);
  for (const Activation kind : kAll) {
    const Tensor y = forward(kind, x);
    for (std::int64_t i = 0; i < 40; ++i) {
      expect_same_bits(forward(kind, x.range(i, 257 - i)), y.range(i, 257 - i));
    }
  }
}

TEST(Activation, WorksInPlace) {
  Cpu cpu(2);
  for (const Activation kind : kAll) {
    const Tensor x = random_tensor({67}, 1), dy = random_tensor({67}, 2);
    const Tensor y = forward(kind, x), dx = backward(kind, x, dy);
    activation_backward({.kind = kind, .dy = dy, .x = x, .dx = dy}, cpu.stream);
    activation_forward({.kind = kind, .x = x, .y = x}, cpu.stream);
    expect_same_bits(dy, dx);
    expect_same_bits(x, y);
  }
}

TEST(Activation, NamesTheShapesThatDoNotFit) {
  Cpu cpu;
  const std::string error = usage_error_of([&] {
    activation_forward(
        {.kind = Activation::kRelu, .x = zeros({2, 3}), .y = zeros({3, 2})},
        cpu.stream);
  });
  expect_mentions(error, {"activation_forward", "[2, 3]", "[3, 2]"});
}

TEST(Activation, ComputesNothingOnTheMetaDevice) {
  Cpu meta(2, Device::kMeta);
  const Tensor x = meta.empty(DType::kF32, {5});
  activation_forward({.kind = Activation::kRelu, .x = x, .y = x}, meta.stream);
  activation_backward({.kind = Activation::kRelu, .dy = x, .x = x, .dx = x},
                      meta.stream);
  EXPECT_EQ(meta.scratch_peak(), 0);
}

}  // namespace
}  // namespace quire::kernels
