#include "quire/core/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "quire/core/detail/flush_to_zero.h"
#include "quire/core/error.h"

namespace quire {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t to_bits(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
int half(float value) { return Float16(value).bits; }
int brain(float value) { return BFloat16(value).bits; }
float from_half(std::uint16_t bits) {
  Float16 value;
  value.bits = bits;
  return static_cast<float>(value);
}

TEST(DType, NamesAreReadBack) {
  for (const DType type : {DType::kF32, DType::kBF16, DType::kF16, DType::kI32,
                           DType::kI64, DType::kU8}) {
    EXPECT_EQ(parse_dtype(name_of(type)), type);
  }
  EXPECT_EQ(name_of(DType::kBF16), "bf16");
  EXPECT_EQ(size_of(DType::kBF16), 2);
  EXPECT_EQ(size_of(DType::kI64), 8);
}

TEST(DType, OnlyNumbersWithAPointAreReal) {
  for (const DType real : {DType::kF32, DType::kBF16, DType::kF16})
    EXPECT_TRUE(is_real(real));
  for (const DType other : {DType::kI32, DType::kI64, DType::kU8})
    EXPECT_FALSE(is_real(other));
}

TEST(DType, AnUnknownNameIsRefusedWithTheKnownOnes) {
  try {
    parse_dtype("float32");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "unknown element type \"float32\"; known types: fp32, bf16, "
                 "fp16, i32, i64, u8");
  }
}

TEST(BFloat16, RoundsTiesToEven) {
  EXPECT_EQ(brain(1.0f), 0x3f80);
  EXPECT_EQ(brain(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(brain(1.0f + 0x3p-8f), 0x3f82);
  EXPECT_EQ(brain(std::nextafter(1.0f + 0x1p-8f, 2.0f)), 0x3f81);
  EXPECT_EQ(brain(-1.0f - 0x1p-8f), 0xbf80);
}

TEST(BFloat16, OverflowsToInfinityAndKeepsNaN) {
  EXPECT_EQ(brain(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(brain(-kInfinity), 0xff80);
  for (const std::uint32_t nan :
       {0x7f800001u, 0x7fffffffu, 0xffc00000u, 0xff800001u}) {
    EXPECT_GT(brain(from_bits(nan)) & 0x7fff, 0x7f80) << std::hex << nan;
  }
}

TEST(BFloat16, RoundsSubnormals) {
  EXPECT_EQ(brain(from_bits(0x00008000)), 0x0000);
  EXPECT_EQ(brain(from_bits(0x00018000)), 0x0002);
  EXPECT_EQ(brain(from_bits(0x807fffff)), 0x8080);
}

TEST(Float16, RoundsTiesToEven) {
  EXPECT_EQ(half(1.0f), 0x3c00);
  EXPECT_EQ(half(1.0f + 0x1p-11f), 0x3c00);
  EXPECT_EQ(half(1.0f + 0x3p-11f), 0x3c02);
  EXPECT_EQ(half(std::nextafter(1.0f + 0x1p-11f, 2.0f)), 0x3c01);
  EXPECT_EQ(half(-2.0f), 0xc000);
  EXPECT_EQ(half(-0.0f), 0x8000);
}

TEST(Float16, OverflowsToInfinityFromTheTieOn) {
  EXPECT_EQ(half(65504.0f), 0x7bff);
  EXPECT_EQ(half(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(half(65520.0f), 0x7c00);
  EXPECT_EQ(half(-std::numeric_limits<float>::max()), 0xfc00);
  EXPECT_EQ(half(kInfinity), 0x7c00);
}

TEST(Float16, RoundsIntoAndOutOfSubnormals) {
  EXPECT_EQ(half(0x1p-14f), 0x0400);
  EXPECT_EQ(half(1023.5f * 0x1p-24f), 0x0400);
  EXPECT_EQ(half(1023.0f * 0x1p-24f), 0x03ff);
  EXPECT_EQ(half(1.5f * 0x1p-24f), 0x0002);
  EXPECT_EQ(half(0x1p-25f), 0x0000);
  EXPECT_EQ(half(std::nextafter(0x1p-25f, 1.0f)), 0x0001);
  EXPECT_EQ(half(from_bits(0x80000001)), 0x8000);
}

TEST(Float16, KeepsNaN) {
  for (const std::uint32_t nan :
       {0x7f800001u, 0x7fffffffu, 0xffc00000u, 0xff800001u}) {
    EXPECT_GT(half(from_bits(nan)) & 0x7fff, 0x7c00) << std::hex << nan;
  }
  EXPECT_TRUE(std::isnan(from_half(0x7c01)));
}

TEST(Float16, WidensExactly) {
  EXPECT_EQ(to_bits(from_half(0x0001)), to_bits(0x1p-24f));
  EXPECT_EQ(to_bits(from_half(0x03ff)), to_bits(1023.0f * 0x1p-24f));
  EXPECT_EQ(to_bits(from_half(0x7bff)), to_bits(65504.0f));
  EXPECT_EQ(to_bits(from_half(0xfc00)), to_bits(-kInfinity));
  EXPECT_EQ(to_bits(from_half(0x8000)), 0x80000000u);
}

void expect_every_number_returns() {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7fff) > 0x7c00) continue;
    ASSERT_EQ(half(from_half(static_cast<std::uint16_t>(bits))),
              static_cast<int>(bits));
  }
}

TEST(Float16, EveryNumberReturnsFromFloat) { expect_every_number_returns(); }

TEST(Float16, FlushToZeroDoesNotTouchSubnormals) {
  std::thread([] {
    flush_to_zero();
    expect_every_number_returns();
  }).join();
}

}  // namespace
}  // namespace quire
