#include "quire/kernels/sum.h"

#include <gtest/gtest.h>

#include "tests/support/tensors.h"

namespace quire::kernels {
namespace {

using namespace quire::testing;

TEST(Sum, AddsInDoublePrecision) {
  Cpu cpu;
  // In fp32 the ones would be lost.
  const Tensor x = tensor_of({0x1p30f, 1.0f, 1.0f, -0x1p30f}, {2, 2});
  EXPECT_EQ(sum({.x = x}, cpu.stream), 2.0);
  EXPECT_EQ(reference::sum({.x = x}, cpu.stream), 2.0);
}

TEST(Sum, WidensBf16) {
  Cpu cpu;
  const Tensor x = tensor_of({1.5f, -0.25f, 2.0f}, {3}, DType::kBF16);
  EXPECT_EQ(sum({.x = x}, cpu.stream), 3.25);
}

TEST(Sum, IsZeroOnTheMetaDevice) {
  Cpu meta(1, Device::kMeta);
  EXPECT_EQ(sum({.x = meta.empty(DType::kF32, {65536, 32769})}, meta.stream),
            0.0);
}

TEST(Sum, RefusesIntegers) {
  Cpu cpu;
  const auto error = usage_error_of([&] {
    sum({.x = ids_of({1, 2}, {2})}, cpu.stream);
  });
  expect_mentions(error, {"sum", "i32 [2]"});
}

}  // namespace
}  // namespace quire::kernels
