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

// "" if they are equal.
std::string line_of(const Weights& a, const Weights& b,
                    const StoredParameter& parameter, const Shape& other) {
  const Shape& shape = parameter.shape;
  if (shape != other)
    return fmt::format("{}: shape {} and {}", parameter.name, shape.to_string(),
                       other.to_string());
  const Difference found = between(a, b, parameter);
  return found.count == 0 ? ""
                          : to_string(parameter.name, found, shape.numel());
}

}  // namespace

std::vector<std::string> compare(const Weights& a, const Weights& b) {
  std::map<std::string_view, const StoredParameter*> others;
  for (const auto& parameter : b.parameters())
    others[parameter.name] = &parameter;
  std::vector<std::string> lines;
  for (const auto& parameter : a.parameters()) {
    const auto other = others.find(parameter.name);
    lines.push_back(other == others.end()
                        ? only_in(parameter.name, a)
                        : line_of(a, b, parameter, other->second->shape));
    if (other != others.end()) others.erase(other);
  }
  for (const auto& [name, parameter] : others)
    lines.push_back(only_in(std::string(name), b));
  std::erase(lines, "");
  return lines;
}

}  // namespace quire::convert
