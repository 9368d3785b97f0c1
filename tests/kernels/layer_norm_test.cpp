#include "quire/kernels/layer_norm.h"

#include <gtest/gtest.h>

#include "tests/support/golden.h"
#include "tests/support/tensors.h"

namespace quire::kernels {
namespace {

using namespace quire::testing;

LayerNormForward random_forward(const Shape& shape, DType dtype) {
  const std::int64_t rows = shape[0], width = shape[1];
  return {.x = random_tensor(shape, 1, dtype),
          .gamma = random_tensor({width}, 2, dtype),
          .beta = random_tensor({width}, 3, dtype),
          .y = zeros(shape, dtype),
          .mean = zeros({rows}),
          .rstd = zeros({rows})};
}

LayerNormBackward backward_of(const LayerNormForward& forward) {
  const Shape row{forward.x.dim(1)};
  return {.dy = random_tensor(forward.x.shape(), 4, forward.x.dtype()),
          .x = forward.x,
          .gamma = forward.gamma,
          .mean = forward.mean,
          .rstd = forward.rstd,
          .dx = zeros(forward.x.shape(), forward.x.dtype()),
          .dgamma = random_tensor(row, 5),
          .dbeta = random_tensor(row, 6)};
}

// With results of its own.
LayerNormForward apart(LayerNormForward args) {
  args.y = copy_of(args.y);
  args.mean = copy_of(args.mean);
  args.rstd = copy_of(args.rstd);
  return args;
}
LayerNormBackward apart(LayerNormBackward args) {
  args.dx = copy_of(args.dx);
  args.dgamma = copy_of(args.dgamma);
  args.dbeta = copy_of(args.dbeta);
  return args;
}

// Row m, over the same memory.
LayerNormForward row_of(LayerNormForward args, std::int64_t m) {
  const Shape row{1, args.x.dim(1)};
  args.x = args.x.range(m * row[1], row);
  args.y = args.y.range(m * row[1], row);
  args.mean = args.mean.range(m, 1);
  args.rstd = args.rstd.range(m, 1);
  return args;
}
LayerNormBackward row_of(LayerNormBackward args, std::int64_t m) {
  const Shape row{1, args.x.dim(1)};
  args.dy = args.dy.range(m * row[1], row);
  args.x = args.x.range(m * row[1], row);
  args.mean = args.mean.range(m, 1);
  args.rstd = args.rstd.range(m, 1);
  args.dx = args.dx.range(m * row[1], row);
  return args;
}

constexpr std::int64_t kRows[] = {0, 1, 3, 67, 257};
constexpr std::int64_t kWidths[] = {1, 3, 67, 385, 777};

template <class Fn>
void for_sizes(Fn fn) {
  for (const std::int64_t rows : kRows) {
    for (const std::int64_t width : kWidths) fn(Shape{rows, width});
  }
}

TEST(LayerNorm, NormalisesByHand) {
  Cpu cpu;
  const LayerNormForward args{.x = tensor_of({1, 3}, {1, 2}),
                              .gamma = tensor_of({2, 2}, {2}),
                              .beta = tensor_of({10, 20}, {2}),
                              .y = zeros({1, 2}),
                              .mean = zeros({1}),
                              .rstd = zeros({1}),
                              .eps = 0.0f};
  layer_norm_forward(args, cpu.stream);
  expect_same_bits(args.y, tensor_of({8, 22}, {1, 2}));
  expect_same_bits(args.mean, tensor_of({2}, {1}));
  expect_same_bits(args.rstd, tensor_of({1}, {1}));
}

TEST(LayerNorm, MatchesTheGoldenValues) {
  Cpu cpu(2);
  const Golden golden("operators");
  LayerNormForward forward = random_forward({7, 67}, DType::kF32);
  forward.x = golden.tensor("layer_norm.x");
  forward.gamma = golden.tensor("layer_norm.gamma");
  forward.beta = golden.tensor("layer_norm.beta");
  layer_norm_forward(forward, cpu.stream);
  LayerNormBackward backward = backward_of(forward);
  backward.dy = golden.tensor("layer_norm.weight_of_y");
  layer_norm_backward(backward, cpu.stream);
  expect_close(forward.y, golden.tensor("layer_norm.y"), 1e-5);
  expect_close(backward.dx, golden.tensor("layer_norm.grad.x"), 1e-5);
  expect_close(backward.dgamma, golden.tensor("layer_norm.grad.gamma"), 1e-5);
  expect_close(backward.dbeta, golden.tensor("layer_norm.grad.beta"), 1e-5);
}

TEST(LayerNorm, MatchesTheReferenceForward) {
  Cpu cpu(2);
  for_sizes([&](const Shape& shape) {
    const LayerNormForward args = random_forward(shape, DType::kF32);
    const LayerNormForward expected = apart(args);
    layer_norm_forward(args, cpu.stream);
    reference::layer_norm_forward(expected, cpu.stream);
    expect_close(args.y, expected.y, 1e-5);
    expect_close(args.mean, expected.mean, 1e-5);
    expect_close(args.rstd, expected.rstd, 1e-5);
  });
}

TEST(LayerNorm, MatchesTheReferenceBackward) {
  Cpu cpu(2);
  for_sizes([&](const Shape& shape) {
    const LayerNormForward forward = random_forward(shape, DType::kF32);
    reference::layer_norm_forward(forward, cpu.stream);
    const LayerNormBackward args = backward_of(forward);
    const LayerNormBackward expected = apart(args);
    layer_norm_backward(args, cpu.stream);
    reference::layer_norm_backward(expected, cpu.stream);
    // A width of 1 leaves nothing but rounding in dx and dgamma.
    if (shape[1] > 1) expect_close(args.dx, expected.dx, 2e-5);
    if (shape[1] > 1) expect_close(args.dgamma, expected.dgamma, 1e-5);
    expect_close(args.dbeta, expected.dbeta, 1e-5);
  });
}

TEST(LayerNorm, AccumulatesOnlyWhatIsAskedFor) {
  Cpu cpu(2);
  const LayerNormForward forward = random_forward({67, 257}, DType::kF32);
  reference::layer_norm_forward(forward, cpu.stream);
  LayerNormBackward args = backward_of(forward);
  args.accumulate_gamma = true;
  const LayerNormBackward expected = apart(args);
  layer_norm_backward(args, cpu.stream);
  reference::layer_norm_backward(expected, cpu.stream);
  expect_close(args.dgamma, expected.dgamma, 1e-5);
  expect_close(args.dbeta, expected.dbeta, 1e-5);
}

TEST(LayerNorm, LeavesOutSumsOfFrozenParameters) {
  Cpu cpu(2);
  const LayerNormForward forward = random_forward({67, 33}, DType::kF32);
  layer_norm_forward(forward, cpu.stream);
  LayerNormBackward args = backward_of(forward);
  const LayerNormBackward whole = apart(args);
  args.dgamma = args.dbeta = {};
  layer_norm_backward(args, cpu.stream);
  layer_norm_backward(whole, cpu.stream);
  expect_same_bits(args.dx, whole.dx);
  EXPECT_EQ(cpu.allocator.report().total_current, 0);
}

TEST(LayerNorm, RoundsBf16Once) {
  Cpu cpu(2);
  for (const std::int64_t width : {257, 777}) {
    const LayerNormForward forward = random_forward({67, width}, DType::kBF16);
    const LayerNormForward expected_forward = apart(forward);
    layer_norm_forward(forward, cpu.stream);
    reference::layer_norm_forward(expected_forward, cpu.stream);
    expect_close(forward.y, expected_forward.y, 0.004);
    const LayerNormBackward args = backward_of(forward);
    const LayerNormBackward expected = apart(args);
    layer_norm_backward(args, cpu.stream);
    reference::layer_norm_backward(expected, cpu.stream);
    expect_close(args.dx, expected.dx, 0.004);
    expect_close(args.dgamma, expected.dgamma, 1e-5);
  }
}

TEST(LayerNorm, GivesARowTheSameBitsAmongOthersAndAlone) {
  Cpu cpu;
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const LayerNormForward all = random_forward({7, 777}, dtype);
    layer_norm_forward(all, cpu.stream);
    const LayerNormBackward back = backward_of(all);
    layer_norm_backward(back, cpu.stream);
    for (std::int64_t m = 0; m < 7; ++m) {
      const LayerNormForward one = apart(row_of(all, m));
      layer_norm_forward(one, cpu.stream);
      expect_same_bits(one.y, row_of(all, m).y);
      const LayerNormBackward one_back = apart(row_of(back, m));
      layer_norm_backward(one_back, cpu.stream);
      expect_same_bits(one_back.dx, row_of(back, m).dx);
    }
  }
}

TEST(LayerNorm, WritesGradientsOverTheirInput) {
  Cpu cpu(2);
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const LayerNormForward forward = random_forward({67, 257}, dtype);
    layer_norm_forward(forward, cpu.stream);
    LayerNormBackward args = backward_of(forward);
    const LayerNormBackward expected = apart(args);
    args.dx = args.dy = copy_of(args.dy);
    layer_norm_backward(args, cpu.stream);
    layer_norm_backward(expected, cpu.stream);
    expect_same_bits(args.dx, expected.dx);
    expect_same_bits(args.dgamma, expected.dgamma);
    expect_same_bits(args.dbeta, expected.dbeta);
  }
}

TEST(LayerNorm, GivesTheSameBitsOnAnyNumberOfThreads) {
  Cpu one(1), three(3);
  const LayerNormForward forward = random_forward({257, 67}, DType::kF32);
  const LayerNormForward again = apart(forward);
  layer_norm_forward(forward, one.stream);
  layer_norm_forward(again, three.stream);
  expect_same_bits(again.y, forward.y);
  const LayerNormBackward args = backward_of(forward);
  const LayerNormBackward other = apart(args);
  layer_norm_backward(args, one.stream);
  layer_norm_backward(other, three.stream);
  expect_same_bits(other.dx, args.dx);
  expect_same_bits(other.dgamma, args.dgamma);
  expect_same_bits(other.dbeta, args.dbeta);
}

LayerNormBackward on(Cpu& device, const Shape& shape) {
  const Shape row{shape[1]}, column{shape[0]};
  return {.dy = device.empty(DType::kF32, shape),
          .x = device.empty(DType::kF32, shape),
          .gamma = device.empty(DType::kF32, row),
          .mean = device.empty(DType::kF32, column),
          .rstd = device.empty(DType::kF32, column),
          .dx = device.empty(DType::kF32, shape),
          .dgamma = device.empty(DType::kF32, row),
          .dbeta = device.empty(DType::kF32, row)};
}

TEST(LayerNorm, TakesTheSameScratchOnTheMetaDevice) {
  Cpu cpu(2), meta(2, Device::kMeta);
  layer_norm_backward(on(cpu, {67, 33}), cpu.stream);
  layer_norm_backward(on(meta, {67, 33}), meta.stream);
  EXPECT_GT(cpu.scratch_peak(), 0);
  EXPECT_EQ(meta.scratch_peak(), cpu.scratch_peak());
}

TEST(LayerNorm, NamesTheShapesThatDoNotFit) {
  Cpu cpu;
  LayerNormForward args = random_forward({3, 4}, DType::kF32);
  args.gamma = zeros({5});
  const std::string error =
      usage_error_of([&] { layer_norm_forward(args, cpu.stream); });
  expect_mentions(error, {"layer_norm_forward", "gamma", "[5]", "[3, 4]"});
}

}  // namespace
}  // namespace quire::kernels
