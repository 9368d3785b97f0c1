// Element types, their sizes and names, and the conversions of the 16-bit ones.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace quire {

enum class DType : std::uint8_t { kF32, kBF16, kF16, kI32, kI64, kU8 };

constexpr std::int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kBF16:
    case DType::kF16:
      return 2;
    case DType::kU8:
      return 1;
  }
  return 0;
}

// fp32, bf16 and fp16.
constexpr bool is_real(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16;
}

// What layers compute in: fp32 and bf16.
constexpr bool is_compute_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBF16;
}

// "fp32", "bf16", "fp16", "i32", "i64", "u8": what a configuration and a
// message say.
std::string_view name_of(DType dtype);
// The inverse of name_of. Throws UsageError naming the known types.
DType parse_dtype(std::string_view name);

// The upper half of an IEEE binary32. Conversion from float rounds to nearest,
// ties to even; NaN stays NaN.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const bool nan = (word & 0x7fffffffu) > 0x7f800000u;
    bits = nan ? static_cast<std::uint16_t>((word >> 16) | 0x40u)
               : static_cast<std::uint16_t>(
                     (word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

// IEEE binary16, same rounding; overflow becomes infinity.
struct Float16 {
  std::uint16_t bits = 0;

  Float16() = default;
  explicit Float16(float value);
  explicit operator float() const;
};

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::kBF16;
};
template <>
struct DTypeOf<Float16> {
  static constexpr DType value = DType::kF16;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::kI64;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::kU8;
};

}  // namespace quire
