#include "quire/kernels/matmul.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/golden.h"
#include "tests/support/tensors.h"

namespace quire::kernels {
namespace {

using namespace quire::testing;

struct Case {
  std::int64_t m, n, k;
};
// Off every tile width, empty, and more than one panel.
constexpr Case kCases[] = {{1, 1, 1},    {3, 67, 5},     {67, 3, 257},
                           {257, 50, 3}, {65, 385, 67},  {300, 400, 33},
                           {0, 5, 3},    {5, 0, 3},      {5, 3, 0},
                           {1, 385, 67}, {70, 10, 1025}, {520, 200, 8}};

Matmul random_product(const Case& size, bool transpose_a, bool transpose_b,
                      DType dtype = DType::kF32) {
  const Shape a = transpose_a ? Shape{size.k, size.m} : Shape{size.m, size.k};
  const Shape b = transpose_b ? Shape{size.n, size.k} : Shape{size.k, size.n};
  return {.a = random_tensor(a, 1, dtype),
          .b = random_tensor(b, 2, dtype),
          .c = zeros({size.m, size.n}),
          .transpose_a = transpose_a,
          .transpose_b = transpose_b};
}

Tensor product(Matmul args, int threads = 2) {
  Cpu cpu(threads);
  args.c = copy_of(args.c);
  matmul(args, cpu.stream);
  return args.c;
}

Tensor reference_product(Matmul args) {
  Cpu cpu;
  args.c = copy_of(args.c);
  reference::matmul(args, cpu.stream);
  return args.c;
}

TEST(Matmul, MultipliesByHand) {
  const Matmul args{.a = tensor_of({1, 2, 3, 4}, {2, 2}),
                    .b = tensor_of({5, 6, 7, 8}, {2, 2}),
                    .c = zeros({2, 2}),
                    .bias = tensor_of({100, 200}, {2})};
  expect_same_bits(product(args), tensor_of({119, 222, 143, 250}, {2, 2}));
  expect_same_bits(reference_product(args),
                   tensor_of({119, 222, 143, 250}, {2, 2}));
}

TEST(Matmul, MatchesTheGoldenLinearLayer) {
  const Golden golden("operators");
  const Tensor x = golden.tensor("linear.x");
  const Tensor w = golden.tensor("linear.weight");
  const Tensor dy = golden.tensor("linear.weight_of_y");
  expect_close(product({.a = x,
                        .b = w,
                        .c = zeros({7, 41}),
                        .bias = golden.tensor("linear.bias"),
                        .transpose_b = true}),
               golden.tensor("linear.y"), 1e-5);
  expect_close(product({.a = dy, .b = w, .c = zeros({7, 67})}),
               golden.tensor("linear.grad.x"), 1e-5);
  expect_close(
      product({.a = dy, .b = x, .c = zeros({41, 67}), .transpose_a = true}),
      golden.tensor("linear.grad.weight"), 1e-5);
}

TEST(Matmul, MatchesTheReferenceInEveryLayout) {
  for (const Case& size : kCases) {
    for (const int layout : {0, 1, 2, 3}) {
      const Matmul args = random_product(size, layout & 1, layout & 2);
      expect_close(product(args), reference_product(args), 1e-5);
    }
  }
}

TEST(Matmul, AddsABiasToEveryRow) {
  for (const Case& size : kCases) {
    Matmul args = random_product(size, false, true);
    args.bias = random_tensor({size.n}, 3);
    expect_close(product(args), reference_product(args), 1e-5);
  }
}

TEST(Matmul, AccumulatesIntoWhatIsThere) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const Case& size : kCases) {
      Matmul args = random_product(size, true, false, dtype);
      args.c = random_tensor({size.m, size.n}, 4);
      args.accumulate = true;
      expect_close(product(args), reference_product(args), 1e-5);
    }
  }
}

TEST(Matmul, OverwritesNaN) {
  Matmul args = random_product({5, 7, 3}, false, false);
  args.c = tensor_of(std::vector<float>(35, NAN), {5, 7});
  expect_close(product(args), reference_product(args), 1e-5);
}

TEST(Matmul, SumsBf16InFp32) {
  for (const Case& size : kCases) {
    for (const int layout : {0, 1, 2, 3}) {
      Matmul args = random_product(size, layout & 1, layout & 2, DType::kBF16);
      args.bias = random_tensor({size.n}, 3, DType::kBF16);
      expect_close(product(args), reference_product(args), 1e-5);
    }
  }
}

TEST(Matmul, RoundsOnceToBf16) {
  // 256 ones and a half: rounded at every step, the half would be lost.
  std::vector<float> ones(257, 1.0f);
  ones.back() = 2.5f;
  const Matmul args{
      .a = tensor_of(ones, {1, 257}, DType::kBF16),
      .b = tensor_of(std::vector<float>(257, 1.0f), {257, 1}, DType::kBF16),
      .c = zeros({1, 1}, DType::kBF16)};
  expect_same_bits(product(args), tensor_of({258.0f}, {1, 1}, DType::kBF16));
}

TEST(Matmul, RoundsFp32ToBf16) {
  Matmul args = random_product({67, 385, 65}, false, true);
  args.c = zeros({67, 385}, DType::kBF16);
  expect_close(product(args), reference_product(args), 0.004);
}

TEST(Matmul, GivesTheSameBitsOnAnyNumberOfThreads) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const int layout : {0, 1, 2}) {
      const Matmul args =
          random_product({300, 401, 385}, layout & 1, layout & 2, dtype);
      const Tensor expected = product(args, 1);
      expect_same_bits(product(args, 2), expected);
      expect_same_bits(product(args, 3), expected);
    }
  }
}

TEST(Matmul, GivesTheSameBitsWhereverTheOperandsLie) {
  const Case size{130, 200, 67};
  Matmul args = random_product(size, false, true);
  const Tensor expected = product(args);
  const Tensor room = zeros({size.m * size.k + 1});
  std::copy_n(args.a.data<float>(), args.a.numel(), room.data<float>() + 1);
  args.a = room.range(1, Shape{size.m, size.k});
  expect_same_bits(product(args), expected);
}

TEST(Matmul, TakesTheSameScratchOnTheMetaDevice) {
  Cpu cpu(2), meta(2, Device::kMeta);
  for (Cpu* device : {&cpu, &meta}) {
    matmul({.a = device->empty(DType::kBF16, {70, 50}),
            .b = device->empty(DType::kBF16, {50, 90}),
            .c = device->empty(DType::kBF16, {70, 90})},
           device->stream);
  }
  EXPECT_GT(cpu.scratch_peak(), 0);
  EXPECT_EQ(meta.scratch_peak(), cpu.scratch_peak());
}

TEST(Matmul, NamesTheShapesThatDoNotFit) {
  Cpu cpu;
  for (const auto run : {&matmul, &reference::matmul}) {
    const std::string error = usage_error_of([&] {
      run({.a = zeros({2, 3}), .b = zeros({4, 5}), .c = zeros({2, 5})},
          cpu.stream);
    });
    expect_mentions(error, {"matmul", "[2, 3]", "[4, 5]", "[2, 5]"});
  }
}

TEST(Matmul, RefusesToAccumulateInBf16) {
  Cpu cpu;
  const std::string error = usage_error_of([&] {
    matmul({.a = zeros({2, 3}),
            .b = zeros({3, 5}),
            .c = zeros({2, 5}, DType::kBF16),
            .accumulate = true},
           cpu.stream);
  });
  expect_mentions(error, {"matmul", "bf16", "fp32"});
}

TEST(SumRows, MatchesTheGoldenBiasGradient) {
  Cpu cpu(2);
  const Golden golden("operators");
  const Tensor y = zeros({41});
  sum_rows({.x = golden.tensor("linear.weight_of_y"), .y = y}, cpu.stream);
  expect_close(y, golden.tensor("linear.grad.bias"), 1e-5);
}

TEST(SumRows, AddsRowsInOrder) {
  Cpu cpu(3);
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const Shape& shape : {Shape{1, 1}, {67, 257}, {3, 1025}, {0, 5}}) {
      const Tensor x = random_tensor(shape, 1, dtype);
      const Tensor y = random_tensor({shape[1]}, 2), expected = copy_of(y);
      sum_rows({.x = x, .y = y, .accumulate = true}, cpu.stream);
      reference::sum_rows({.x = x, .y = expected, .accumulate = true},
                          cpu.stream);
      expect_same_bits(y, expected);
    }
  }
}

TEST(SumRows, NamesTheShapesThatDoNotFit) {
  Cpu cpu;
  const std::string error = usage_error_of([&] {
    sum_rows({.x = zeros({2, 3}), .y = zeros({2})}, cpu.stream);
  });
  expect_mentions(error, {"sum_rows", "[2, 3]", "[2]"});
}

}  // namespace
}  // namespace quire::kernels
