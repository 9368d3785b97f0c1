#include "quire/checkpoint/detail/safetensors_types.h"

#include <algorithm>
#include <iterator>

#include "quire/checkpoint/safetensors.h"

namespace quire::checkpoint {
namespace {

constexpr SafetensorsType kTypes[] = {
    {"BOOL", 8},
    {"F4", 4},
    {"F6_E2M3", 6},
    {"F6_E3M2", 6},
    {"U8", 8, DType::kU8},
    {"I8", 8},
    {"F8_E5M2", 8},
    {"F8_E4M3", 8},
    {"F8_E8M0", 8},
    {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8},
    {"I16", 16},
    {"U16", 16},
    {"F16", 16, DType::kF16},
    {"BF16", 16, DType::kBF16},
    {"I32", 32, DType::kI32},
    {"U32", 32},
    {"F32", 32, DType::kF32},
    {"C64", 64},
    {"F64", 64},
    {"I64", 64, DType::kI64},
    {"U64", 64},
};

}  // namespace

const SafetensorsType* find_type(std::string_view name) {
  const auto* found = std::ranges::find(kTypes, name, &SafetensorsType::name);
  return found == std::end(kTypes) ? nullptr : found;
}

std::optional<Extent> extent_of(const SafetensorsType& type,
                                std::span<const std::int64_t> shape) {
  std::int64_t others = 1;  // the product of all extents but 0
  bool empty = false;
  for (const std::int64_t dim : shape) {
    empty = empty || dim == 0;
    if (dim < 0 ||
        __builtin_mul_overflow(others, std::max(dim, std::int64_t{1}), &others))
      return std::nullopt;
  }
  std::int64_t bits = 0;
  if (__builtin_mul_overflow(others, type.bits, &bits)) return std::nullopt;
  if (empty) return Extent{0, 0};
  if (bits % 8 != 0) return std::nullopt;
  return Extent{others, bits / 8};
}

std::string_view safetensors_dtype(DType dtype) {
  for (const auto& type : kTypes)
    if (type.type == dtype) return type.name;
  return "";
}

}  // namespace quire::checkpoint
