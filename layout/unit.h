// Units: which parameters are gathered and reduced together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quire/layout/row.h"

namespace quire::layout {

// What the layout needs to know of a parameter.
struct ParameterUse {
  std::string name;
  std::int64_t numel;
  bool trainable;
  // Ascending, not empty: the runs of joined layers that use it.
  std::vector<int> segments;
};

struct Unit {
  std::string name;  // the segment's, or the first parameter's if shared
  // That use it; more than one: shared (tied, or a repeated layer).
  std::vector<int> segments;
  Row trainable;
  Row frozen;

  // Elements of both rows, with padding.
  std::int64_t full() const { return trainable.full() + frozen.full(); }
};

// Parameters used by the same set of segments make one unit; units in the order
// of their first segment, a segment's own unit before shared ones. Every
// parameter is in exactly one row of one unit, under its index in `parameters`.
// segment_names[s] names segment s. Throws UsageError naming the parameter
// whose segments are not as ParameterUse says.
std::vector<Unit> make_units(std::span<const ParameterUse> parameters,
                             std::span<const std::string> segment_names,
                             int ranks);

}  // namespace quire::layout
