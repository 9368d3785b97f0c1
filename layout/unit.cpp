#include "quire/layout/unit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "quire/core/error.h"

namespace quire::layout {
namespace {

// In lexicographic order a segment's own set comes before those that share it.
using Groups = std::map<std::vector<int>, std::vector<int>>;

void require_segments(const ParameterUse& use, std::size_t count) {
  const std::vector<int>& segments = use.segments;
  const bool ascending = std::ranges::adjacent_find(
                             segments, std::greater_equal()) == segments.end();
  if (segments.empty() || !ascending || segments.front() < 0 ||
      static_cast<std::size_t>(segments.back()) >= count) {
    throw UsageError(fmt::format(
        "parameter {} is used by segments [{}]; expected at least one of the "
        "{} segments, each once, in ascending order",
        use.name, fmt::join(segments, ", "), count));
  }
}

Groups group(std::span<const ParameterUse> parameters, std::size_t segments) {
  Groups groups;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    require_segments(parameters[i], segments);
    groups[parameters[i].segments].push_back(static_cast<int>(i));
  }
  return groups;
}

// Each parameter's elements to the row of its trainability.
Unit make_unit(std::span<const ParameterUse> parameters,
               const std::vector<int>& ids, int ranks) {
  std::vector<Member> trainable, frozen;
  for (const int id : ids) {
    const ParameterUse& use = parameters[id];
    (use.trainable ? trainable : frozen).push_back({id, use.numel});
  }
  return {.name = parameters[ids.front()].name,
          .segments = parameters[ids.front()].segments,
          .trainable = Row(trainable, ranks),
          .frozen = Row(frozen, ranks)};
}

}  // namespace

std::vector<Unit> make_units(std::span<const ParameterUse> parameters,
                             std::span<const std::string> segment_names,
                             int ranks) {
  std::vector<Unit> units;
  for (const auto& [segments, ids] : group(parameters, segment_names.size())) {
    Unit unit = make_unit(parameters, ids, ranks);
    if (segments.size() == 1) unit.name = segment_names[segments.front()];
    units.push_back(std::move(unit));
  }
  return units;
}

}  // namespace quire::layout
