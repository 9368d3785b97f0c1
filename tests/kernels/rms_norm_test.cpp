#include "quire/kernels/rms_norm.h"

#include <gtest/gtest.h>

#include "tests/support/golden.h"
#include "tests/support/tensors.h"

namespace quire::kernels {
namespace {

using namespace quire::testing;

RmsNormForward random_forward(const Shape& shape, DType dtype) {
  return {.x = random_tensor(shape, 1, dtype),
          .gamma = random_tensor({shape[1]}, 2, dtype),
          .y = zeros(shape, dtype),
          .rstd = zeros({shape[0]})};
}

RmsNormBackward backward_of(const RmsNormForward& forward) {
  return {.dy = random_tensor(forward.x.shape(), 4, forward.x.dtype()),
          .x = forward.x,
          .gamma = forward.gamma,
          .rstd = forward.rstd,
          .dx = zeros(forward.x.shape(), forward.x.dtype()),
          .dgamma = random_tensor({forward.x.dim(1)}, 5)};
}

// With results of its own.
RmsNormForward apart(RmsNormForward args) {
  args.y = copy_of(args.y);
  args.rstd = copy_of(args.rstd);
  return args;
}
RmsNormBackward apart(RmsNormBackward args) {
  args.dx = copy_of(args.dx);
  args.dgamma = copy_of(args.dgamma);
  return args;
}

// Row m, over the same memory.
RmsNormForward row_of(RmsNormForward args, std::int64_t m) {
  const Shape row{1, args.x.dim(1)};
  args.x = args.x.range(m * row[1], row);
  args.y = args.y.range(m * row[1], row);
  args.rstd = args.rstd.range(m, 1);
  return args;
}
RmsNormBackward row_of(RmsNormBackward args, std::int64_t m) {
  const Shape row{1, args.x.dim(1)};
  args.dy = args.dy.range(m * row[1], row);
  args.x = args.x.range(m * row[1], row);
  args.rstd = args.rstd.range(m, 1);
  args.dx = args.dx.range(m * row[1], row);
  return args;
}

// A backward of a forward that the reference ran.
RmsNormBackward random_backward(const Shape& shape, DType dtype) {
  Cpu cpu;
  const RmsNormForward forward = random_forward(shape, dtype);
  reference::rms_norm_forward(forward, cpu.stream);
  return backward_of(forward);
}

template <class Fn>
void for_sizes(Fn fn) {
  for (const std::int64_t rows : {0, 1, 3, 67, 257}) {
    for (const std::int64_t width : {1, 3, 67, 385, 777})
      fn(Shape{rows, width});
  }
}

TEST(RmsNorm, NormalisesByHand) {
  Cpu cpu;
  const RmsNormForward args{.x = tensor_of({1, 7}, {1, 2}),
                            .gamma = tensor_of({10, 5}, {2}),
                            .y = zeros({1, 2}),
                            .rstd = zeros({1}),
                            .eps = 0.0f};
  rms_norm_forward(args, cpu.stream);  // the mean square is 25
  expect_close(args.y, tensor_of({2, 7}, {1, 2}), 1e-7);
  expect_close(args.rstd, tensor_of({0.2f}, {1}), 1e-7);
}

TEST(RmsNorm, AddsEpsToTheMeanSquare) {
  Cpu cpu;
  RmsNormForward args = random_forward({1, 4}, DType::kF32);
  args.x = zeros({1, 4});
  args.eps = 0.25f;
  rms_norm_forward(args, cpu.stream);
  expect_all(args.rstd, 2.0f);
  expect_all(args.y, 0.0f);
}

TEST(RmsNorm, MatchesTheGoldenValues) {
  Cpu cpu(2);
  const Golden golden("operators");
  RmsNormForward forward = random_forward({7, 67}, DType::kF32);
  forward.x = golden.tensor("rms_norm.x");
  forward.gamma = golden.tensor("rms_norm.gamma");
  rms_norm_forward(forward, cpu.stream);
  RmsNormBackward backward = backward_of(forward);
  backward.dy = golden.tensor("rms_norm.weight_of_y");
  rms_norm_backward(backward, cpu.stream);
  expect_close(forward.y, golden.tensor("rms_norm.y"), 1e-5);
  expect_close(backward.dx, golden.tensor("rms_norm.grad.x"), 1e-5);
  expect_close(backward.dgamma, golden.tensor("rms_norm.grad.gamma"), 1e-5);
}

TEST(RmsNorm, MatchesTheReferenceForward) {
  Cpu cpu(2);
  for_sizes([&](const Shape& shape) {
    const RmsNormForward args = random_forward(shape, DType::kF32);
    const RmsNormForward expected = apart(args);
    rms_norm_forward(args, cpu.stream);
    reference::rms_norm_forward(expected, cpu.stream);
    expect_close(args.y, expected.y, 1e-5);
    expect_close(args.rstd, expected.rstd, 1e-5);
  });
}

TEST(RmsNorm, MatchesTheReferenceBackward) {
  Cpu cpu(2);
  for_sizes([&](const Shape& shape) {
    const RmsNormBackward args = random_backward(shape, DType::kF32);
    const RmsNormBackward expected = apart(args);
    rms_norm_backward(args, cpu.stream);
    reference::rms_norm_backward(expected, cpu.stream);
    // A width of 1 leaves nothing but rounding in dx.
    if (shape[1] > 1) expect_close(args.dx, expected.dx, 2e-5);
    expect_close(args.dgamma, expected.dgamma, 1e-5);
  });
}

TEST(RmsNorm, AddsToWhatIsThereIfAsked) {
  Cpu cpu(2);
  RmsNormBackward args = random_backward({67, 257}, DType::kF32);
  args.accumulate_gamma = true;
  const RmsNormBackward expected = apart(args);
  rms_norm_backward(args, cpu.stream);
  reference::rms_norm_backward(expected, cpu.stream);
  expect_close(args.dgamma, expected.dgamma, 1e-5);
}

TEST(RmsNorm, LeavesOutTheSumsOfAFrozenGamma) {
  Cpu cpu(2);
  RmsNormBackward args = random_backward({67, 33}, DType::kF32);
  const RmsNormBackward whole = apart(args);
  args.dgamma = {};
  rms_norm_backward(args, cpu.stream);
  EXPECT_EQ(cpu.scratch_peak(), 0);
  rms_norm_backward(whole, cpu.stream);
  expect_same_bits(args.dx, whole.dx);
}

TEST(RmsNorm, WritesGradientsOverTheirInput) {
  Cpu cpu(2);
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    RmsNormBackward args = random_backward({67, 257}, dtype);
    const RmsNormBackward expected = apart(args);
    args.dx = args.dy = copy_of(args.dy);
    rms_norm_backward(args, cpu.stream);
    rms_norm_backward(expected, cpu.stream);
    expect_same_bits(args.dx, expected.dx);
    expect_same_bits(args.dgamma, expected.dgamma);
  }
}

TEST(RmsNorm, GivesARowTheSameBitsAmongOthersAndAlone) {
  Cpu cpu;
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const RmsNormForward all = random_forward({7, 777}, dtype);
    rms_norm_forward(all, cpu.stream);
    const RmsNormBackward back = backward_of(all);
    rms_norm_backward(back, cpu.stream);
    for (std::int64_t m = 0; m < 7; ++m) {
      const RmsNormForward one = apart(row_of(all, m));
      rms_norm_forward(one, cpu.stream);
      expect_same_bits(one.y, row_of(all, m).y);
      const RmsNormBackward one_back = apart(row_of(back, m));
      rms_norm_backward(one_back, cpu.stream);
      expect_same_bits(one_back.dx, row_of(back, m).dx);
    }
  }
}

TEST(RmsNorm, RoundsBf16BeforeGammaMultiplies) {
  Cpu cpu;
  const RmsNormForward args{
      .x = tensor_of({1, 7}, {1, 2}, DType::kBF16),
      .gamma = tensor_of({1.625f, 1.625f}, {2}, DType::kBF16),
      .y = zeros({1, 2}, DType::kBF16),
      .rstd = zeros({1}),
      .eps = 0.0f};
  rms_norm_forward(args, cpu.stream);
  // 0.2 and 1.4 in bf16 are 0.2001953125 and 1.3984375. Rounded once, the
  // products would be 0.32421875 and 2.28125.
  expect_same_bits(args.y,
                   tensor_of({0.326171875f, 2.265625f}, {1, 2}, DType::kBF16));
}

TEST(RmsNorm, MatchesTheReferenceInBf16) {
  Cpu cpu(2);
  for (const std::int64_t width : {257, 777}) {
    const RmsNormForward forward = random_forward({67, width}, DType::kBF16);
    const RmsNormForward expected_forward = apart(forward);
    rms_norm_forward(forward, cpu.stream);
    reference::rms_norm_forward(expected_forward, cpu.stream);
    expect_close(forward.y, expected_forward.y, 0.004);
    const RmsNormBackward args = backward_of(forward);
    const RmsNormBackward expected = apart(args);
    rms_norm_backward(args, cpu.stream);
    reference::rms_norm_backward(expected, cpu.stream);
    expect_close(args.dx, expected.dx, 0.004);
    expect_close(args.dgamma, expected.dgamma, 1e-5);
  }
}

TEST(RmsNorm, GivesTheSameBitsOnAnyNumberOfThreads) {
  Cpu one(1), three(3);
  const RmsNormForward forward = random_forward({257, 67}, DType::kF32);
  const RmsNormForward again = apart(forward);
  rms_norm_forward(forward, one.stream);
  rms_norm_forward(again, three.stream);
  expect_same_bits(again.y, forward.y);
  const RmsNormBackward args = backward_of(forward);
  const RmsNormBackward other = apart(args);
  rms_norm_backward(args, one.stream);
  rms_norm_backward(other, three.stream);
  expect_same_bits(other.dx, args.dx);
  expect_same_bits(other.dgamma, args.dgamma);
}

RmsNormBackward on(Cpu& device, const Shape& shape) {
  return {.dy = device.empty(DType::kF32, shape),
          .x = device.empty(DType::kF32, shape),
          .gamma = device.empty(DType::kF32, {shape[1]}),
          .rstd = device.empty(DType::kF32, {shape[0]}),
          .dx = device.empty(DType::kF32, shape),
          .dgamma = device.empty(DType::kF32, {shape[1]})};
}

TEST(RmsNorm, TakesTheSameScratchOnTheMetaDevice) {
  Cpu cpu(2), meta(2, Device::kMeta);
  rms_norm_backward(on(cpu, {67, 33}), cpu.stream);
  rms_norm_backward(on(meta, {67, 33}), meta.stream);
  EXPECT_GT(cpu.scratch_peak(), 0);
  EXPECT_EQ(meta.scratch_peak(), cpu.scratch_peak());
}

TEST(RmsNorm, NamesTheShapesThatDoNotFit) {
  Cpu cpu;
  RmsNormForward args = random_forward({3, 4}, DType::kF32);
  args.gamma = zeros({5});
  expect_mentions(usage_error_of([&] { rms_norm_forward(args, cpu.stream); }),
                  {"rms_norm_forward", "gamma", "[5]", "[3, 4]"});
  RmsNormBackward back = random_backward({3, 4}, DType::kF32);
  back.dgamma = zeros({4}, DType::kBF16);
  expect_mentions(usage_error_of([&] { rms_norm_backward(back, cpu.stream); }),
                  {"rms_norm_backward", "dgamma", "bf16"});
}

}  // namespace
}  // namespace quire::kernels
