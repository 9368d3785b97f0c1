#include <fmt/format.h>

#include <map>

#include "quire/convert/convert.h"
#include "quire/convert/difference.h"

namespace quire::convert {
namespace {

Difference between(const Weights& a, const Weights& b,
                   const StoredParameter& parameter) {
  const auto reader = [&](const Weights& weights) {
    return [&](std::int64_t first, std::span<float> out) {
      read_floats(weights, parameter.name, first, out);
    };
  };
  return difference_of(parameter.shape.numel(), reader(a), reader(b));
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
    const Difference found = between(a, b, parameter);
    if (found.count > 0)
      lines.push_back(
          to_string(parameter.name, found, parameter.shape.numel()));
  }
  for (const auto& [name, parameter] : others)
    lines.push_back(only_in(std::string(name), b));
  return lines;
}

}  // namespace quire::convert
