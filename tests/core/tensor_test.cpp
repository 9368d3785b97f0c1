#include "quire/core/tensor.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

#include "quire/core/allocator.h"

namespace quire {
namespace {

Tensor counting(std::int64_t count) {
  auto values = std::make_shared<std::vector<std::int32_t>>();
  for (std::int32_t i = 0; i < count; ++i) values->push_back(i);
  return tensor_over(reinterpret_cast<std::byte*>(values->data()), DType::kI32,
                     {count}, values);
}

TEST(Tensor, ADefaultOneIsUndefined) {
  const Tensor tensor;
  EXPECT_FALSE(tensor.defined());
  EXPECT_THROW(tensor.view({1}), UsageError);
  EXPECT_THROW(tensor.range(0, 0), UsageError);
}

TEST(Tensor, AViewHasTheSameElements) {
  const Tensor flat = counting(6);
  const Tensor matrix = flat.view({2, 3});
  EXPECT_EQ(matrix.shape(), (Shape{2, 3}));
  EXPECT_EQ(matrix.data<std::int32_t>(), flat.data<std::int32_t>());
  EXPECT_EQ(matrix.bytes(), 24);
  EXPECT_THROW(flat.view({2, 4}), UsageError);
}

TEST(Tensor, ARangeIsAPartOfTheFlatOrder) {
  const Tensor matrix = counting(6).view({2, 3});
  const Tensor part = matrix.range(2, 3);
  EXPECT_EQ(part.shape(), Shape{3});
  EXPECT_EQ(part.data<std::int32_t>()[0], 2);
  EXPECT_EQ(part.range(1, Shape{2, 1}).data<std::int32_t>()[1], 4);
  EXPECT_EQ(matrix.range(6, 0).numel(), 0);
}

TEST(Tensor, ARangeOutsideIsRefused) {
  const Tensor tensor = counting(6);
  EXPECT_THROW(tensor.range(-1, 2), UsageError);
  EXPECT_THROW(tensor.range(5, 2), UsageError);
  EXPECT_THROW(tensor.range(0, -1), UsageError);
  EXPECT_THROW(tensor.range(INT64_MAX, INT64_MAX), UsageError);
  EXPECT_THROW(tensor.range(2, 2).range(0, 3), UsageError);
}

TEST(Tensor, ARangeOutsideItsStorageIsRefused) {
  const auto storage = counting(6).storage();
  EXPECT_NO_THROW(Tensor(storage, DType::kI32, {2}, 16));
  EXPECT_THROW(Tensor(storage, DType::kI32, {2}, 20), UsageError);
  EXPECT_THROW(Tensor(storage, DType::kI32, {2}, 2), UsageError);
  EXPECT_THROW(Tensor(storage, DType::kI32, {0}, 28), UsageError);
  EXPECT_THROW(Tensor(storage, DType::kI32, {0}, -4), UsageError);
  EXPECT_THROW(Tensor(storage, DType::kI64, {INT64_MAX}), UsageError);
  EXPECT_THROW(Tensor(nullptr, DType::kI32, {0}), UsageError);
}

TEST(Tensor, AnotherTypeIsRefusedNamingBoth) {
  try {
    counting(6).view({2, 3}).data<float>();
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "a tensor [2, 3] of i32 was read as fp32");
  }
}

TEST(Tensor, IsUniqueUntilItsStorageIsShared) {
  Tensor tensor = counting(4);
  EXPECT_TRUE(tensor.unique());
  const Tensor part = tensor.range(0, 1);
  EXPECT_FALSE(tensor.unique());
  EXPECT_FALSE(part.unique());
}

TEST(Tensor, HasMoreThan31BitsOfElements) {
  Allocator meta({.device = Device::kMeta});
  const Tensor tensor =
      meta.allocate(DType::kBF16, {65536, 32769}, Category::kParameters);
  EXPECT_EQ(tensor.numel(), 2147549184);
  EXPECT_EQ(tensor.bytes(), 4295098368);
  EXPECT_EQ(tensor.range(2147483648, 65536).numel(), 65536);
  EXPECT_THROW(tensor.range(2147483648, 65537), UsageError);
}

TEST(Tensor, ReachesMoreThan32BitsOfBytes) {
  const std::int64_t bytes = std::int64_t{5} << 30;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::shared_ptr<void> keep(
      memory, [bytes](void* mapped) { munmap(mapped, bytes); });
  const Tensor tensor = tensor_over(static_cast<std::byte*>(memory),
                                    DType::kF32, {bytes / 4}, keep);
  const std::int64_t begin = (std::int64_t{1} << 30) + 1;
  tensor.range(begin, 1).data<float>()[0] = 3.0f;
  EXPECT_EQ(static_cast<float*>(memory)[begin], 3.0f);
  EXPECT_EQ(static_cast<float*>(memory)[1], 0.0f);
}

TEST(TensorOver, KeepsTheMemoryAlive) {
  auto values = std::make_shared<std::vector<float>>(2, 1.0f);
  const std::weak_ptr<void> watch = values;
  auto* data = reinterpret_cast<std::byte*>(values->data());
  Tensor tensor = tensor_over(data, DType::kF32, {2}, std::move(values));
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(tensor.device(), Device::kCpu);
  tensor = {};
  EXPECT_TRUE(watch.expired());
}

TEST(TensorOver, RefusesUnalignedAndMissingMemory) {
  alignas(8) std::byte memory[16];
  EXPECT_THROW(tensor_over(memory + 2, DType::kF32, {1}, nullptr), UsageError);
  EXPECT_THROW(tensor_over(nullptr, DType::kF32, {1}, nullptr), UsageError);
  EXPECT_EQ(tensor_over(nullptr, DType::kF32, {0}, nullptr).numel(), 0);
}

TEST(TensorOf, OwnsTheValuesAndWantsOneForEveryElement) {
  const Tensor tensor = tensor_of(std::vector<float>{1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(tensor.data<float>()[3], 4.0f);
  EXPECT_THROW(tensor_of(std::vector<float>{1, 2, 3}, {2, 2}), UsageError);
}

}  // namespace
}  // namespace quire
