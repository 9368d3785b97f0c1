#include "quire/engine/structure.h"

#include <algorithm>

#include "quire/core/error.h"

namespace quire::engine {
namespace {

std::vector<Segment> make_segments(const nn::Model& model) {
  std::vector<Segment> segments;
  const auto positions = model.positions();
  for (int i = 0; i < static_cast<int>(positions.size()); ++i) {
    const nn::Model::Position& position =
        positions[static_cast<std::size_t>(i)];
    if (segments.empty() || !position.joins_previous)
      segments.push_back({position.name, {}, {}});
    segments.back().positions.push_back(i);
  }
  return segments;
}

std::vector<int> segments_using(const nn::ParameterInfo& parameter,
                                const std::vector<Segment>& segments) {
  std::vector<int> result;
  for (int s = 0; s < static_cast<int>(segments.size()); ++s) {
    const auto& positions = segments[static_cast<std::size_t>(s)].positions;
    const bool used =
        std::ranges::any_of(parameter.positions, [&](int position) {
          return std::ranges::find(positions, position) != positions.end();
        });
    if (used) result.push_back(s);
  }
  return result;
}

std::vector<layout::Unit> units_of(const nn::Model& model,
                                   const std::vector<Segment>& segments,
                                   int ranks) {
  std::vector<layout::ParameterUse> uses;
  for (const nn::ParameterInfo& parameter : model.parameters()) {
    uses.push_back({.name = parameter.name,
                    .numel = parameter.shape.numel(),
                    .trainable = parameter.trainable,
                    .segments = segments_using(parameter, segments)});
  }
  std::vector<std::string> names;
  for (const Segment& segment : segments) names.push_back(segment.name);
  return layout::make_units(uses, names, ranks);
}

}  // namespace

Structure::Structure(const nn::Model& model, int ranks)
    : segments(make_segments(model)) {
  if (segments.empty())
    throw UsageError(
        "the model has no layer; add at least one with Model::add");
  units = units_of(model, segments, ranks);
  unit_of.assign(model.parameters().size(), -1);
  first_trainable = static_cast<int>(segments.size());
  for (int u = 0; u < static_cast<int>(units.size()); ++u) {
    const layout::Unit& unit = units[static_cast<std::size_t>(u)];
    for (const layout::Row* row : {&unit.trainable, &unit.frozen}) {
      for (const layout::Segment& part : row->segments())
        unit_of[static_cast<std::size_t>(part.parameter)] = u;
    }
    for (int s : unit.segments)
      segments[static_cast<std::size_t>(s)].units.push_back(u);
    if (!unit.trainable.empty())
      first_trainable = std::min(first_trainable, unit.segments.front());
  }
  if (first_trainable == static_cast<int>(segments.size())) {
    throw UsageError(
        "no parameter of the model is trainable; thaw at least one");
  }
}

std::vector<Use> Structure::uses() const {
  std::vector<Use> result;
  for (int s = last(); s >= 0; --s) {
    for (int u : segments[static_cast<std::size_t>(s)].units) {
      if (!units[static_cast<std::size_t>(u)].trainable.empty())
        result.push_back({s, u});
    }
  }
  return result;
}

}  // namespace quire::engine
