// The element types that a safetensors file may name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "quire/core/dtype.h"

namespace quire::checkpoint {

struct SafetensorsType {
  std::string_view name;
  std::int64_t bits;
  std::optional<DType> type = {};
};

const SafetensorsType* find_type(std::string_view name);

// The bytes of a tensor, and how many elements it has. None if it overflows 63
// bits or ends inside a byte; an empty tensor of huge extents is refused, too.
struct Extent {
  std::int64_t numel;
  std::int64_t bytes;
};
std::optional<Extent> extent_of(const SafetensorsType& type,
                                std::span<const std::int64_t> shape);

}  // namespace quire::checkpoint
