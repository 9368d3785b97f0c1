#include "quire/convert/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "quire/convert/detail/values.h"

namespace quire::convert {
namespace {

void add(Difference& found, std::int64_t element, float a, float b) {
  if (std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b))
    return;
  if (found.count++ == 0) {
    found.first = element;
    found.a = a;
    found.b = b;
  }
  const double size = std::abs(static_cast<double>(a) - static_cast<double>(b));
  if (std::isnan(size) || size > found.largest) found.largest = size;
}

}  // namespace

Difference difference_of(std::int64_t numel, const ReadFloats& a,
                         const ReadFloats& b) {
  Difference found;
  std::vector<float> x, y;
  for (std::int64_t at = 0; at < numel; at += kBlock) {
    const auto count = static_cast<std::size_t>(std::min(kBlock, numel - at));
    x.resize(count);
    y.resize(count);
    a(at, x);
    b(at, y);
    for (std::size_t i = 0; i < count; ++i)
      add(found, at + static_cast<std::int64_t>(i), x[i], y[i]);
  }
  return found;
}

std::string to_string(const std::string& name, const Difference& found,
                      std::int64_t numel) {
  return fmt::format(
      "{}: {} of {} elements differ, the first is element {}: {} and {}; the "
      "largest difference is {}",
      name, found.count, numel, found.first, found.a, found.b, found.largest);
}

}  // namespace quire::convert
