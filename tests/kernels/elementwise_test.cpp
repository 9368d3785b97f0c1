#include "quire/kernels/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/tensors.h"

namespace quire::kernels {
namespace {

using testing::Cpu;
using testing::tensor_of;
using testing::zeros;

constexpr std::int64_t kLengths[] = {0, 1, 17, 1000, 40001};

template <class Args>
using Kernel = void (*)(const Args&, Stream&);

// y of `fast` on 1, 2 and 3 threads has the bits of y of `plain`. `args_of`
// makes the arguments around a fresh y.
template <class Args, class MakeArgs>
void expect_equal(Kernel<Args> fast, Kernel<Args> plain, MakeArgs args_of,
                  const Tensor& start) {
  Cpu one;
  const Tensor expected = testing::copy_of(start);
  plain(args_of(expected), one.stream);
  for (int threads : {1, 2, 3}) {
    Cpu cpu(threads);
    const Tensor got = testing::copy_of(start);
    fast(args_of(got), cpu.stream);
    testing::expect_same_bits(got, expected);
  }
}

TEST(Elementwise, AddsMultipliesAndScales) {
  Cpu cpu;
  const Tensor a = tensor_of({1, -2, 3}, {3}), b = tensor_of({4, 5, 6}, {3});
  const Tensor y = zeros({3});
  add({.a = a, .b = b, .y = y}, cpu.stream);
  testing::expect_same_bits(y, tensor_of({5, 3, 9}, {3}));
  multiply({.a = a, .b = b, .y = y}, cpu.stream);
  testing::expect_same_bits(y, tensor_of({4, -10, 18}, {3}));
  scale({.x = y, .y = y, .factor = 0.5f}, cpu.stream);
  testing::expect_same_bits(y, tensor_of({2, -5, 9}, {3}));
}

TEST(Elementwise, EqualsTheReferenceAtAnyLengthAndThreads) {
  for (DType type : {DType::kF32, DType::kBF16}) {
    for (std::int64_t n : kLengths) {
      const Tensor a = testing::random_tensor({n}, 1, type);
      const Tensor b = testing::random_tensor({n}, 2, type);
      expect_equal<Add>(
          add, reference::add,
          [&](const Tensor& y) { return Add{.a = a, .b = b, .y = y}; }, b);
      expect_equal<Multiply>(
          multiply, reference::multiply,
          [&](const Tensor& y) { return Multiply{.a = y, .b = a, .y = y}; }, b);
      expect_equal<Scale>(
          scale, reference::scale,
          [&](const Tensor& y) {
            return Scale{.x = y, .y = y, .factor = 0.3f};
          },
          a);
    }
  }
}

TEST(AddRows, RepeatsRowsOverABatch) {
  Cpu cpu;
  const Tensor x = tensor_of({0, 0, 10, 10, 20, 20, 30, 30}, {4, 2});
  const Tensor y = zeros({4, 2});
  add_rows({.x = x, .b = tensor_of({1, 2, 3, 4}, {2, 2}), .y = y}, cpu.stream);
  testing::expect_same_bits(y,
                            tensor_of({1, 2, 13, 14, 21, 22, 33, 34}, {4, 2}));
  add_rows({.x = x, .b = tensor_of({1, 2}, {2}), .y = x}, cpu.stream);
  testing::expect_same_bits(x,
                            tensor_of({1, 2, 11, 12, 21, 22, 31, 32}, {4, 2}));
}

TEST(AddRowsBackward, SumsOverTheBatch) {
  Cpu cpu;
  const Tensor dy = tensor_of({1, 2, 3, 4, 10, 20, 30, 40}, {4, 2});
  const Tensor table = tensor_of({5, 5, 5, 5}, {2, 2});
  add_rows_backward({.dy = dy, .db = table, .accumulate = true}, cpu.stream);
  testing::expect_same_bits(table, tensor_of({16, 27, 38, 49}, {2, 2}));
  const Tensor bias = tensor_of({5, 5}, {2});
  add_rows_backward({.dy = dy, .db = bias}, cpu.stream);
  testing::expect_same_bits(bias, tensor_of({44, 66}, {2}));
}

struct Rows {
  std::int64_t rows, period, width;
};
constexpr Rows kRows[] = {{0, 1, 5},     {1, 1, 1},    {6, 1, 127},
                          {9, 3, 129},   {200, 1, 67}, {64, 32, 300},
                          {3, 1, 20001}, {4, 2, 5000}};

TEST(AddRows, EqualsTheReferenceForwardAndBackward) {
  for (DType type : {DType::kF32, DType::kBF16}) {
    for (const Rows& r : kRows) {
      const Tensor x = testing::random_tensor({r.rows, r.width}, 1, type);
      const Tensor b = testing::random_tensor({r.period, r.width}, 2, type);
      expect_equal<AddRows>(
          add_rows, reference::add_rows,
          [&](const Tensor& y) { return AddRows{.x = x, .b = b, .y = y}; }, x);
      expect_equal<AddRowsBackward>(
          add_rows_backward, reference::add_rows_backward,
          [&](const Tensor& db) {
            return AddRowsBackward{
                .dy = x, .db = db, .accumulate = r.rows % 2 == 0};
          },
          testing::random_tensor({r.period, r.width}, 3));
    }
  }
}

TEST(AddRows, RefusesRowsThatDoNotDivide) {
  Cpu cpu;
  const auto run = [&](const Shape& b) {
    add_rows({.x = zeros({4, 2}), .b = zeros(b), .y = zeros({4, 2})},
             cpu.stream);
  };
  for (const Shape& shape : {Shape{3, 2}, Shape{3}, Shape{2, 2, 2}}) {
    testing::expect_mentions(testing::usage_error_of([&] { run(shape); }),
                             {"add_rows", "fp32 [4, 2]", shape.to_string()});
  }
}

TEST(Cast, RoundsToNearestEven) {
  Cpu cpu;
  const Tensor x =
      tensor_of({1 + 0x1p-8f, 1 + 0x3p-8f, 1 + 0x1p-11f, 65520.0f}, {4});
  const Tensor bf16 = zeros({4}, DType::kBF16), fp16 = zeros({4}, DType::kF16);
  cast({.x = x, .y = bf16}, cpu.stream);
  cast({.x = x, .y = fp16}, cpu.stream);
  EXPECT_EQ(testing::values_of(bf16),
            (std::vector<float>{1, 1 + 0x4p-8f, 1, 65536}));
  EXPECT_EQ(testing::values_of(fp16),
            (std::vector<float>{1 + 0x1p-8f, 1 + 0x3p-8f, 1, INFINITY}));
}

TEST(Cast, RoundsThroughAnotherType) {
  Cpu cpu;
  const Tensor x = tensor_of({1 + 0x1p-8f, 3.1415927f}, {2});
  cast({.x = x, .y = x, .through = DType::kBF16}, cpu.stream);
  testing::expect_same_bits(x, tensor_of({1.0f, 3.140625f}, {2}));
}

TEST(Cast, EqualsTheReferenceForAllPairs) {
  const DType types[] = {DType::kF32, DType::kBF16, DType::kF16};
  for (DType from : types) {
    for (DType through : types) {
      for (DType to : types) {
        const Tensor x = testing::random_tensor({20011}, 7, from);
        expect_equal<Cast>(
            cast, reference::cast,
            [&](const Tensor& y) {
              return Cast{.x = x, .y = y, .through = through};
            },
            zeros({20011}, to));
      }
    }
  }
}

TEST(Cast, CopiesIntegersAndRefusesToConvertThem) {
  Cpu cpu;
  const Tensor x = testing::ids_of({1, -2, 1 << 30}, {3});
  const Tensor y = zeros({3}, DType::kI32);
  cast({.x = x, .y = y}, cpu.stream);
  testing::expect_same_bits(y, x);
  const auto convert = [&] { cast({.x = x, .y = zeros({3})}, cpu.stream); };
  testing::expect_mentions(testing::usage_error_of(convert), {"cast", "i32"});
}

TEST(Fill, SetsEveryElement) {
  Cpu cpu(2);
  for (DType type : {DType::kF32, DType::kBF16}) {
    const Tensor y = zeros({40001}, type);
    fill({.y = y, .value = -1.5f}, cpu.stream);
    testing::expect_all(y, -1.5f);
  }
}

FillRandom random_fill(FillRandom::Kind kind, const Tensor& y,
                       std::int64_t first) {
  return {.y = y, .kind = kind, .a = 2, .b = 3, .key = 11, .first = first};
}

constexpr FillRandom::Kind kKinds[] = {FillRandom::Kind::kUniform,
                                       FillRandom::Kind::kNormal};

// Philox of zeros: words 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
TEST(FillRandom, MatchesValuesWorkedOutFromThePublishedWords) {
  Cpu cpu;
  const Tensor y = zeros({4});
  FillRandom args{.y = y, .kind = kKinds[0], .a = 0, .b = 1, .key = 0};
  fill_random(args, cpu.stream);
  testing::expect_close(
      y, tensor_of({0.39904642f, 0.88052016f, 0.73571277f, 0.60548182f}, {4}),
      1e-7);
  args.kind = kKinds[1];
  fill_random(args, cpu.stream);
  testing::expect_close(
      y, tensor_of({0.7379257f, -0.6884337f, -1.2860192f, -1.0037889f}, {4}),
      1e-6);
}

TEST(FillRandom, EqualsTheReferenceAtAnyLengthAndThreads) {
  for (FillRandom::Kind kind : kKinds) {
    for (std::int64_t n : kLengths) {
      expect_equal<FillRandom>(
          fill_random, reference::fill_random,
          [&](const Tensor& y) { return random_fill(kind, y, n % 7); },
          zeros({n}));
    }
  }
}

TEST(FillRandom, IsAFunctionOfTheElementWhereverARangeBegins) {
  Cpu cpu;
  for (FillRandom::Kind kind : kKinds) {
    const Tensor whole = zeros({300});
    fill_random(random_fill(kind, whole, 0), cpu.stream);
    for (std::int64_t first = 0; first < 140; ++first) {
      const Tensor part = zeros({150});
      fill_random(random_fill(kind, part, first), cpu.stream);
      testing::expect_same_bits(part, whole.range(first, 150));
    }
  }
}

TEST(FillRandom, CountsBeyondThirtyTwoBits) {
  Cpu cpu;
  const Tensor near = zeros({4}), far = zeros({4});
  fill_random(random_fill(kKinds[0], near, 0), cpu.stream);
  fill_random(random_fill(kKinds[0], far, std::int64_t{1} << 34), cpu.stream);
  const auto words = RandomKey{.key = 11}.block(std::uint64_t{1} << 32);
  EXPECT_FLOAT_EQ(far.data<float>()[0], 2 + uniform(words[0]));
  EXPECT_NE(near.data<float>()[0], far.data<float>()[0]);
}

// Of n values the mean lies within 5 / sqrt(n) deviations, the second moment
// within 5 sqrt(2 / n).
TEST(FillRandom, HasTheMomentsOfTheNormalDistribution) {
  constexpr std::int64_t kCount = 100000;
  Cpu cpu(2);
  const Tensor y = zeros({kCount});
  fill_random(random_fill(kKinds[1], y, 0), cpu.stream);
  double mean = 0, square = 0;
  for (float value : testing::values_of(y)) {
    const double z = (value - 2) / 3;
    mean += z / kCount;
    square += z * z / kCount;
  }
  EXPECT_NEAR(mean, 0, 0.0159);
  EXPECT_NEAR(square, 1, 0.0224);
}

TEST(Elementwise, ComputesNothingOnMeta) {
  Cpu meta(1, Device::kMeta);
  const Tensor x = meta.empty(DType::kF32, {3, 1000});
  const Tensor b = meta.empty(DType::kF32, {1000});
  add({.a = x, .b = x, .y = x}, meta.stream);
  add_rows({.x = x, .b = b, .y = x}, meta.stream);
  add_rows_backward({.dy = x, .db = b}, meta.stream);
  cast({.x = x, .y = x}, meta.stream);
  fill({.y = x, .value = 1}, meta.stream);
  fill_random(random_fill(kKinds[1], x, 0), meta.stream);
  EXPECT_EQ(meta.scratch_peak(), 0);
}

TEST(Elementwise, RefusesMixedTypesAndShapes) {
  Cpu cpu;
  const auto run = [&](const Tensor& b) {
    add({.a = zeros({3}), .b = b, .y = zeros({3})}, cpu.stream);
  };
  testing::expect_mentions(testing::usage_error_of([&] { run(zeros({4})); }),
                           {"add: got a fp32 [3], b fp32 [4]"});
  testing::expect_mentions(
      testing::usage_error_of([&] { run(zeros({3}, DType::kBF16)); }),
      {"b bf16 [3]"});
  testing::expect_mentions(testing::usage_error_of([&] { run(Tensor()); }),
                           {"b undefined"});
}

}  // namespace
}  // namespace quire::kernels
