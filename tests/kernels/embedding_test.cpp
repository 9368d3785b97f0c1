#include "quire/kernels/embedding.h"

#include <gtest/gtest.h>

#include "tests/support/golden.h"
#include "tests/support/tensors.h"

namespace quire::kernels {
namespace {

using namespace quire::testing;

TEST(Embedding, MatchesTheGoldenValues) {
  Cpu cpu(2);
  const Golden golden("operators");
  const Tensor ids = golden.tensor("embedding.ids").view({24});
  const Tensor y = zeros({24, 20}), dtable = zeros({13, 20});
  embedding_forward(
      {.ids = ids, .table = golden.tensor("embedding.weight"), .y = y},
      cpu.stream);
  embedding_backward(
      {.ids = ids,
       .dy = golden.tensor("embedding.weight_of_y").view({24, 20}),
       .dtable = dtable},
      cpu.stream);
  expect_close(y, golden.tensor("embedding.y").view({24, 20}), 0.0);
  expect_close(dtable, golden.tensor("embedding.grad.weight"), 1e-5);
}

TEST(Embedding, CopiesRows) {
  Cpu cpu(3);
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const EmbeddingForward args{.ids = random_ids({67}, 257, 1),
                                .table = random_tensor({257, 3}, 2, dtype),
                                .y = zeros({67, 3}, dtype)};
    EmbeddingForward expected = args;
    expected.y = zeros({67, 3}, dtype);
    embedding_forward(args, cpu.stream);
    reference::embedding_forward(expected, cpu.stream);
    expect_same_bits(args.y, expected.y);
  }
}

void expect_as_reference(const Shape& table, std::int64_t count, DType dtype,
                         bool accumulate) {
  const EmbeddingBackward args{.ids = random_ids({count}, table[0], 1),
                               .dy = random_tensor({count, table[1]}, 2, dtype),
                               .dtable = random_tensor(table, 3),
                               .accumulate = accumulate};
  EmbeddingBackward expected = args;
  expected.dtable = copy_of(args.dtable);
  Cpu cpu(3);
  embedding_backward(args, cpu.stream);
  reference::embedding_backward(expected, cpu.stream);
  expect_same_bits(args.dtable, expected.dtable);
}

TEST(Embedding, AddsInTheOrderOfPositionsOnAnyNumberOfThreads) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const bool accumulate : {false, true}) {
      expect_as_reference({5, 67}, 257, dtype, accumulate);
      expect_as_reference({257, 3}, 67, dtype, accumulate);
      expect_as_reference({4, 5}, 0, dtype, accumulate);
    }
  }
}

TEST(Embedding, NamesThePositionOfAnIdOutsideTheTable) {
  for (const auto run : {&embedding_forward, &reference::embedding_forward}) {
    Cpu cpu;
    const std::string error = usage_error_of([&] {
      run({.ids = ids_of({0, 7, 9}, {3}),
           .table = zeros({7, 2}),
           .y = zeros({3, 2})},
          cpu.stream);
      cpu.stream.synchronize();
    });
    expect_mentions(error, {"id 7", "position 1", "[0, 7)"});
  }
}

TEST(Embedding, NamesTheShapesThatDoNotFit) {
  Cpu cpu;
  const std::string error = usage_error_of([&] {
    embedding_backward({.ids = ids_of({0, 1}, {2}),
                        .dy = zeros({3, 4}),
                        .dtable = zeros({5, 4})},
                       cpu.stream);
  });
  expect_mentions(error, {"embedding_backward", "[2]", "[3, 4]", "[5, 4]"});
}

TEST(Embedding, ComputesNothingOnTheMetaDevice) {
  Cpu meta(2, Device::kMeta);
  embedding_forward({.ids = meta.empty(DType::kI32, {3}),
                     .table = meta.empty(DType::kF32, {5, 2}),
                     .y = meta.empty(DType::kF32, {3, 2})},
                    meta.stream);
  embedding_backward({.ids = meta.empty(DType::kI32, {3}),
                      .dy = meta.empty(DType::kF32, {3, 2}),
                      .dtable = meta.empty(DType::kF32, {5, 2})},
                     meta.stream);
  EXPECT_EQ(meta.scratch_peak(), 0);
}

}  // namespace
}  // namespace quire::kernels
