// A model as the engine sees it: segments (joined layers that run together) and
// the units that they use.
#pragma once

#include <string>
#include <vector>

#include "quire/layout/unit.h"
#include "quire/nn/model.h"

namespace quire::engine {

struct Segment {
  std::string name;            // of its first layer
  std::vector<int> positions;  // in the model's list
  std::vector<int> units;      // that it uses, its own first
};

// A segment's use of a unit: the key of one stream of gradients. A shared unit
// has several.
struct Use {
  int segment;
  int unit;

  friend bool operator==(const Use&, const Use&) = default;
};

struct Structure {
  // Throws UsageError if the model has no layer or no trainable parameter.
  Structure(const nn::Model& model, int ranks);

  std::vector<Segment> segments;
  std::vector<layout::Unit> units;
  std::vector<int> unit_of;  // of every parameter, by id
  // The first segment with a trainable parameter: backward ends there.
  int first_trainable;

  const Segment& segment(int s) const {
    return segments[static_cast<std::size_t>(s)];
  }
  const layout::Unit& unit(int u) const {
    return units[static_cast<std::size_t>(u)];
  }
  int last() const { return static_cast<int>(segments.size()) - 1; }
  // Trainable uses in the order their gradients are added: the last segment
  // first.
  std::vector<Use> uses() const;
};

}  // namespace quire::engine
