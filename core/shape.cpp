#include "quire/core/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "quire/core/error.h"

namespace quire {
namespace {

std::string written(std::span<const std::int64_t> extents) {
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

void require_extents(std::span<const std::int64_t> extents) {
  if (extents.size() > Shape::kMaxRank) {
    throw UsageError(
        fmt::format("shape {} has {} extents; at most {} are allowed",
                    written(extents), extents.size(), Shape::kMaxRank));
  }
  if (std::ranges::any_of(extents,
                          [](std::int64_t extent) { return extent < 0; })) {
    throw UsageError(
        fmt::format("shape {} has a negative extent", written(extents)));
  }
}

void require_product(std::span<const std::int64_t> extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) {
    if (__builtin_mul_overflow(product, extent, &product)) {
      throw UsageError(fmt::format("shape {} has more than 2^63 - 1 elements",
                                   written(extents)));
    }
  }
}

bool has_zero(std::span<const std::int64_t> extents) {
  return std::ranges::find(extents, 0) != extents.end();
}

}  // namespace

Shape::Shape(std::span<const std::int64_t> extents) {
  require_extents(extents);
  if (!has_zero(extents)) require_product(extents);
  std::ranges::copy(extents, extents_.begin());
  rank_ = static_cast<int>(extents.size());
}

std::int64_t Shape::numel() const {
  if (has_zero(extents())) return 0;  // the others' product may overflow
  std::int64_t product = 1;
  for (const std::int64_t extent : extents()) product *= extent;
  return product;
}

std::string Shape::to_string() const { return written(extents()); }

}  // namespace quire
