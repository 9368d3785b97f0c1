#include "quire/core/allocator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

namespace quire {
namespace {

constexpr auto kGradients = static_cast<std::size_t>(Category::kGradients);
constexpr auto kWorkspace = static_cast<std::size_t>(Category::kWorkspace);

Tensor take(Allocator& allocator, std::int64_t bytes,
            Category category = Category::kWorkspace) {
  return allocator.allocate(DType::kU8, {bytes}, category);
}

std::string message_of_refusal(Allocator& allocator, std::int64_t bytes) {
  try {
    take(allocator, bytes, Category::kGradients);
  } catch (const OutOfMemory& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(Allocator, CountsInMultiplesOf64Bytes) {
  Allocator allocator({});
  const Tensor one = take(allocator, 1);
  const Tensor more = take(allocator, 65, Category::kGradients);
  EXPECT_EQ(allocator.report().current[kWorkspace], 64);
  EXPECT_EQ(allocator.report().current[kGradients], 128);
  EXPECT_EQ(allocator.report().total_current, 192);
  EXPECT_EQ(one.storage()->bytes(), 1);
}

TEST(Allocator, CountsUntilTheLastHandleDies) {
  Allocator allocator({});
  Tensor tensor = take(allocator, 64);
  Tensor part = tensor.range(0, 1);
  tensor = {};
  EXPECT_EQ(allocator.report().total_current, 64);
  part = {};
  EXPECT_EQ(allocator.report().total_current, 0);
}

TEST(Allocator, BlocksStartOn64Bytes) {
  Allocator allocator({});
  for (const std::int64_t bytes : {1, 65, 1000, 2097151, 2097152, 3000000}) {
    const Tensor tensor = take(allocator, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.raw()) % 64, 0u) << bytes;
    tensor.raw()[bytes - 1] = std::byte{1};
  }
}

TEST(Allocator, BigBlocksStartOnAHugePage) {
  Allocator allocator({});
  const Tensor a = take(allocator, 2097152);
  const Tensor b = take(allocator, 5000000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.raw()) % 2097152, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.raw()) % 2097152, 0u);
}

TEST(Allocator, TheBudgetHoldsForTheSumOfCategories) {
  Allocator allocator({.budget_bytes = 256});
  const Tensor a = take(allocator, 128);
  const Tensor b = take(allocator, 128, Category::kGradients);
  EXPECT_THROW(take(allocator, 1, Category::kOptimizer), OutOfMemory);
  EXPECT_NO_THROW(take(allocator, 0));
}

TEST(Allocator, ARefusalNamesEverything) {
  Allocator allocator({.budget_bytes = 4096, .owner = "rank 2"});
  const Tensor held = take(allocator, 1024);
  const std::string message = message_of_refusal(allocator, 4000);
  for (const char* part : {"rank 2", "4032 bytes", "gradients", "4096 bytes",
                           "1024 are in use", "workspace", "1.0 KiB",
                           "reduce batch.lane_samples, use more ranks or a "
                           "higher ZeRO stage, recompute, "
                           "or raise the budget"}) {
    EXPECT_NE(message.find(part), std::string::npos)
        << part << " is missing in\n"
        << message;
  }
}

TEST(Allocator, ARefusalChangesNothing) {
  Allocator allocator({.budget_bytes = 4096});
  const Tensor held = take(allocator, 1024);
  EXPECT_THROW(take(allocator, 4096), OutOfMemory);
  EXPECT_THROW(allocator.charge(4096, Category::kGathered), OutOfMemory);
  EXPECT_EQ(allocator.report().total_current, 1024);
  EXPECT_EQ(allocator.report().total_peak, 1024);
  EXPECT_EQ(allocator.system_allocations(), 1);
}

TEST(Allocator, WhatTheSystemRefusesIsOutOfMemoryToo) {
  Allocator allocator({});
  EXPECT_THROW(take(allocator, std::int64_t{1} << 60), OutOfMemory);
  EXPECT_THROW(take(allocator, INT64_MAX), UsageError);
  EXPECT_THROW(allocator.allocate(DType::kI64, {std::int64_t{1} << 61},
                                  Category::kGathered),
               UsageError);
  EXPECT_EQ(allocator.report().total_peak, 0);
}

TEST(Allocator, KeepsTheCategoriesOfTheTotalsPeak) {
  Allocator allocator({});
  { const Tensor early = take(allocator, 640, Category::kGradients); }
  const Tensor a = take(allocator, 512);
  { const Tensor b = take(allocator, 256, Category::kGradients); }
  const MemoryReport report = allocator.report();
  EXPECT_EQ(report.total_peak, 768);
  EXPECT_EQ(report.at_peak[kWorkspace], 512);
  EXPECT_EQ(report.at_peak[kGradients], 256);
  EXPECT_EQ(report.peak[kGradients], 640);
}

TEST(Allocator, ResetPeakForgetsWhatIsOver) {
  Allocator allocator({});
  const Tensor held = take(allocator, 64);
  { const Tensor over = take(allocator, 640, Category::kGradients); }
  allocator.reset_peak();
  const MemoryReport report = allocator.report();
  EXPECT_EQ(report.total_peak, 64);
  EXPECT_EQ(report.peak[kGradients], 0);
  EXPECT_EQ(report.at_peak[kWorkspace], 64);
}

TEST(Allocator, ASteadyStepAsksTheSystemForNothing) {
  Allocator allocator({});
  const auto step = [&] {
    const Tensor small = take(allocator, 1000);
    const Tensor big = take(allocator, 3 << 20);
    { const Tensor scratch = take(allocator, 70000); }
    const Tensor after = take(allocator, 69000);
  };
  step();
  EXPECT_EQ(allocator.system_allocations(), 3);
  for (int i = 0; i < 3; ++i) step();
  EXPECT_EQ(allocator.system_allocations(), 3);
}

TEST(Allocator, ReusesABlockThatWastesAQuarterAndAPage) {
  Allocator allocator({});
  { const Tensor block = take(allocator, 12800); }
  { const Tensor fits = take(allocator, 6976); }  // 6976 + 1744 + 4096 = 12816
  EXPECT_EQ(allocator.system_allocations(), 1);
  {
    const Tensor too_small = take(allocator, 6912);
  }  // 6912 + 1728 + 4096 = 12736
  EXPECT_EQ(allocator.system_allocations(), 2);
}

TEST(Allocator, ReusesTheSmallestBlockThatFits) {
  Allocator allocator({});
  const std::byte* small = nullptr;
  {
    const Tensor a = take(allocator, 12800);
    const Tensor b = take(allocator, 12032);
    small = b.raw();
  }
  EXPECT_EQ(take(allocator, 12000).raw(), small);
}

TEST(Allocator, TrimReturnsCachedBlocks) {
  Allocator allocator({});
  const Tensor held = take(allocator, 128);
  { const Tensor cached = take(allocator, 64000); }
  allocator.trim();
  { const Tensor again = take(allocator, 64000); }
  EXPECT_EQ(allocator.system_allocations(), 3);
}

TEST(Allocator, TensorsOutliveIt) {
  Tensor tensor;
  {
    Allocator allocator({});
    tensor = allocator.zeros(DType::kF32, {1000}, Category::kParameters);
  }
  tensor.data<float>()[999] = 1.0f;
  EXPECT_EQ(tensor.data<float>()[0], 0.0f);
}

TEST(Allocator, TheMetaDeviceCountsTheSameWithoutMemory) {
  Allocator meta(
      {.device = Device::kMeta, .budget_bytes = std::int64_t{1} << 50});
  {
    const Tensor big =
        meta.zeros(DType::kF32, {1 << 20, 1 << 20}, Category::kGathered);
    EXPECT_EQ(big.raw(), nullptr);
    EXPECT_TRUE(big.is_meta());
    EXPECT_THROW(take(meta, std::int64_t{1} << 50), OutOfMemory);
  }
  EXPECT_EQ(meta.report().total_peak, std::int64_t{1} << 42);
  EXPECT_EQ(meta.report().total_current, 0);
  EXPECT_EQ(meta.system_allocations(), 0);
}

TEST(Allocator, TensorsWithoutElementsCostNothing) {
  Allocator allocator({.budget_bytes = 0});
  const Tensor empty =
      allocator.zeros(DType::kF32, {3, 0}, Category::kGathered);
  EXPECT_NE(empty.raw(), nullptr);
  EXPECT_EQ(allocator.report().total_peak, 0);
  EXPECT_EQ(allocator.system_allocations(), 0);
}

TEST(Allocator, PoisonIsNaNWhereNothingWasWritten) {
  Allocator allocator({.poison = true});
  const Tensor fp32 =
      allocator.allocate(DType::kF32, {5}, Category::kWorkspace);
  const Tensor bf16 =
      allocator.allocate(DType::kBF16, {5}, Category::kWorkspace);
  EXPECT_TRUE(std::isnan(fp32.data<float>()[4]));
  EXPECT_TRUE(std::isnan(static_cast<float>(bf16.data<BFloat16>()[4])));
  EXPECT_EQ(
      allocator.zeros(DType::kF32, {5}, Category::kWorkspace).data<float>()[4],
      0.0f);
}

TEST(Allocator, PoisonCoversWhatWasReleased) {
  Allocator allocator({.poison = true});
  const Tensor held = take(allocator, 64);
  float* stale = nullptr;
  {
    const Tensor released =
        allocator.zeros(DType::kF32, {16}, Category::kWorkspace);
    stale = released.data<float>();
  }
  EXPECT_TRUE(std::isnan(stale[0]));  // the block is cached, not returned
}

TEST(Allocator, IsSharedByThreads) {
  Allocator allocator({});
  const auto work = [&] {
    for (int i = 1; i < 200; ++i)
      take(allocator, 64 * i).raw()[0] = std::byte{1};
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(allocator.report().total_current, 0);
}

TEST(Charge, CountsAgainstTheBudgetUntilItDies) {
  Allocator allocator({.budget_bytes = 256});
  {
    const Charge charge = allocator.charge(100, Category::kGathered);
    EXPECT_EQ(allocator.report().total_current, 128);
    EXPECT_THROW(take(allocator, 192), OutOfMemory);
  }
  EXPECT_NO_THROW(take(allocator, 192));
  EXPECT_EQ(allocator.report().total_peak, 192);
  EXPECT_THROW(allocator.charge(-1, Category::kGathered), UsageError);
}

TEST(Charge, Moves) {
  Allocator allocator({});
  Charge first = allocator.charge(64, Category::kGathered);
  Charge second = std::move(first);
  EXPECT_EQ(allocator.report().total_current, 64);
  second = allocator.charge(128, Category::kGradients);
  EXPECT_EQ(allocator.report().total_current, 128);
  second.release();
  second.release();
  EXPECT_EQ(allocator.report().total_current, 0);
}

TEST(MemoryReport, WritesATable) {
  Allocator allocator({});
  { const Tensor over = take(allocator, 2048, Category::kGradients); }
  const Tensor held = take(allocator, 64);
  const std::string table = allocator.report().table(1024);
  EXPECT_NE(table.find("category               now     at peak    own peak\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("gradients              0 B     2.0 KiB     2.0 KiB\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("total                 64 B     2.0 KiB"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("budget             1.0 KiB"), std::string::npos)
      << table;
}

}  // namespace
}  // namespace quire
