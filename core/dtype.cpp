#include "quire/core/dtype.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "quire/core/error.h"

namespace quire {
namespace {

constexpr std::array kTypes = {DType::kF32, DType::kBF16, DType::kF16,
                               DType::kI32, DType::kI64,  DType::kU8};

// value / 2^shift, to nearest, ties to even. REQUIRES: 1 <= shift <= 31.
std::uint32_t shift_rounded(std::uint32_t value, int shift) {
  const std::uint32_t half = 1u << (shift - 1);
  const std::uint32_t rest = value & ((1u << shift) - 1);
  const std::uint32_t kept = value >> shift;
  return kept + (rest > half || (rest == half && (kept & 1u)) ? 1u : 0u);
}

// Integers only, so that flush-to-zero cannot touch subnormal values. `word`
// has no sign and is finite.
std::uint32_t half_magnitude(std::uint32_t word) {
  constexpr int kBias = 127 - 15;
  const int exponent = static_cast<int>(word >> 23) - kBias;
  if (exponent >= 31) return 0x7c00u;
  // A carry out of the fraction goes into the exponent, and from the largest
  // value into infinity, as it should.
  if (exponent >= 1)
    return shift_rounded(word - (std::uint32_t{kBias} << 23), 13);
  const int shift = 14 - exponent;
  if (shift > 25) return 0;  // below half of the smallest subnormal
  return shift_rounded((word & 0x7fffffu) | 0x800000u, shift);
}

// A subnormal half, fraction * 2^-24, as a normal binary32.
std::uint32_t widen_subnormal(std::uint32_t fraction) {
  const int top = 31 - std::countl_zero(fraction);
  const auto exponent = static_cast<std::uint32_t>(top - 24 + 127);
  return (exponent << 23) | ((fraction << (23 - top)) & 0x7fffffu);
}

std::uint32_t widen_magnitude(std::uint32_t half) {
  if (half >= 0x7c00u) return 0x7f800000u | ((half & 0x3ffu) << 13);
  if (half >= 0x0400u) return (half << 13) + (std::uint32_t{127 - 15} << 23);
  return half == 0 ? 0u : widen_subnormal(half);
}

}  // namespace

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "fp32";
    case DType::kBF16:
      return "bf16";
    case DType::kF16:
      return "fp16";
    case DType::kI32:
      return "i32";
    case DType::kI64:
      return "i64";
    case DType::kU8:
      return "u8";
  }
  return "unknown";
}

DType parse_dtype(std::string_view name) {
  std::string known;
  for (const DType type : kTypes) {
    if (name == name_of(type)) return type;
    known += (known.empty() ? "" : ", ") + std::string(name_of(type));
  }
  throw UsageError(
      fmt::format("unknown element type \"{}\"; known types: {}", name, known));
}

Float16::Float16(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = word & 0x7fffffffu;
  const bool nan = magnitude > 0x7f800000u;
  const std::uint32_t half =
      nan ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : half_magnitude(magnitude);
  bits = static_cast<std::uint16_t>(((word >> 16) & 0x8000u) | half);
}

Float16::operator float() const {
  const std::uint32_t sign = (std::uint32_t{bits} & 0x8000u) << 16;
  return std::bit_cast<float>(sign | widen_magnitude(bits & 0x7fffu));
}

}  // namespace quire
