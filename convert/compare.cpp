#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "quire/convert/convert.h"
#include "quire/convert/detail/values.h"

namespace quire::convert {
namespace {

// Where two parameters of one shape differ.
struct Difference {
  std::int64_t count = 0;
  std::int64_t first = 0;
  float a = 0.0f, b = 0.0f;  // the first elements that differ
  double largest = 0.0;      // NaN as soon as one is

  void add(std::int64_t element, float x, float y) {
    if (std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y))
      return;
    if (count++ == 0) {
      first = element;
      a = x;
      b = y;
    }
    const double size =
        std::abs(static_cast<double>(x) - static_cast<double>(y));
    if (std::isnan(size) || size > largest) largest = size;
  }
};

Difference difference_of(const Weights& a, const Weights& b,
                         const StoredParameter& parameter) {
  Difference found;
  const std::int64_t numel = parameter.shape.numel();
  std::vector<float> x, y;
  for (std::int64_t at = 0; at < numel; at += kBlock) {
    const auto count = static_cast<std::size_t>(std::min(kBlock, numel - at));
    x.resize(count);
    y.resize(count);
    read_floats(a, parameter.name, at, x);
    read_floats(b, parameter.name, at, y);
    for (std::size_t i = 0; i < count; ++i)
      found.add(at + static_cast<std::int64_t>(i), x[i], y[i]);
  }
  return found;
}

std::string line_of(const std::string& name, const Difference& found,
                    std::int64_t numel) {
  return fmt::format(
      "{}: {} of {} elements differ, the first is element {}: {} and {}; the "
      "largest difference is {}",
      name, found.count, numel, found.first, found.a, found.b, found.largest);
}

std::string only_in(const std::string& name, const Weights& side) {
  return fmt::format("{} is only in {}", name, side.path());
}

}  // namespace

std::vector<std::string> compare(const Weights& a, const Weights& b) {
  std::map<std::string_view, const StoredParameter*> others;
  for (const auto& parameter : b.parameters())
    others[parameter.name] = &parameter;
  std::vector<std::string> lines;
  for (const auto& parameter : a.parameters()) {
    const auto other = others.find(parameter.name);
    if (other == others.end()) {
      lines.push_back(only_in(parameter.name, a));
      continue;
    }
    const Shape& shape = other->second->shape;
    others.erase(other);
    if (shape != parameter.shape) {
      lines.push_back(fmt::format("{}: shape {} and {}", parameter.name,
                                  parameter.shape.to_string(),
                                  shape.to_string()));
      continue;
    }
    const Difference found = difference_of(a, b, parameter);
    if (found.count > 0)
      lines.push_back(line_of(parameter.name, found, parameter.shape.numel()));
  }
  for (const auto& [name, parameter] : others)
    lines.push_back(only_in(std::string(name), b));
  return lines;
}

}  // namespace quire::convert
