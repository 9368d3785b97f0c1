#include "quire/nn/model.h"

#include <fmt/format.h>

#include <algorithm>

#include "quire/core/error.h"
#include "quire/core/text.h"

namespace quire::nn {

void Model::append(std::string name, std::unique_ptr<Layer> layer,
                   Placement placement) {
  require_free(name);
  auto declared = declared_by(name, *layer);
  positions_.push_back({.name = std::move(name),
                        .layer = layer.get(),
                        .joins_previous = placement.joins_previous});
  layers_.push_back(std::move(layer));
  for (Declared& one : declared) {
    place(one);
    declared_.push_back(std::move(one));
  }
}

void Model::require_free(const std::string& name) const {
  const bool taken = std::ranges::any_of(
      positions_, [&](const Position& p) { return p.name == name; });
  if (name.empty() || taken)
    throw UsageError(fmt::format(
        "a layer was named \"{}\"{}; expected a name of its own, not empty",
        name, taken ? ", as one before it" : ""));
}

// What `layer` declares at the next position. Changes nothing if it throws.
std::vector<Model::Declared> Model::declared_by(const std::string& name,
                                                Layer& layer) {
  std::vector<Declared> result;
  const auto position = static_cast<int>(positions_.size());
  layer.for_each_parameter([&](const std::string& path, Parameter& parameter) {
    result.push_back({.name = name + "." + path,
                      .parameter = &parameter,
                      .positions = {position}});
    if (ids_.contains(result.back().name))
      throw UsageError(
          fmt::format("layer \"{}\" brings a parameter \"{}\", but another "
                      "layer has one of "
                      "that name; rename the layer",
                      name, result.back().name));
  });
  return result;
}

void Model::repeat(std::string_view name, std::string as) {
  const auto found = std::ranges::find(positions_, name, &Position::name);
  if (found == positions_.end()) {
    std::vector<std::string> known;
    for (const Position& p : positions_) known.push_back(p.name);
    throw UsageError(
        fmt::format("repeat: the model has no layer \"{}\"; the nearest is "
                    "\"{}\"",
                    name, nearest(name, known)));
  }
  require_free(as);
  const auto original = static_cast<std::size_t>(found - positions_.begin());
  const auto position = static_cast<int>(positions_.size());
  for (Declared& declared : declared_) {
    const auto& at = declared.positions;
    if (std::ranges::find(at, static_cast<int>(original)) != at.end())
      declared.positions.push_back(position);
  }
  positions_.push_back(
      {.name = std::move(as), .layer = layers_[original].get()});
  layers_.push_back(layers_[original]);
  index();
}

void Model::tie(std::string_view alias, std::string_view target) {
  const ParameterInfo& a = parameter(find(alias));
  const ParameterInfo& t = parameter(find(target));
  if (&a == &t || a.name != alias)
    throw UsageError(fmt::format(
        "tie: \"{}\" cannot be tied to \"{}\": it is \"{}\" already", alias,
        target, a.name));
  if (!(a.shape == t.shape))
    throw UsageError(
        fmt::format("tie: \"{}\" is {} and \"{}\" is {}; expected equal shapes",
                    alias, a.shape.to_string(), target, t.shape.to_string()));
  for (auto& [from, to] : ties_)
    if (to == a.name) to = t.name;
  ties_.emplace(a.name, t.name);
  index();
}

void Model::freeze(std::string_view glob) {
  bool any = false;
  for (const std::string& name : names()) {
    if (!matches_glob(glob, name)) continue;
    any = true;
    frozen_.insert(name);
    parameters_[static_cast<std::size_t>(find(name))].trainable = false;
  }
  if (any) return;
  throw UsageError(fmt::format(
      "freeze: no parameter matches \"{}\"; the nearest name is \"{}\"", glob,
      nearest(glob, names())));
}

void Model::place(const Declared& declared) {
  const auto id = static_cast<int>(parameters_.size());
  const Parameter::Options& options = declared.parameter->options();
  parameters_.push_back(
      {.name = declared.name,
       .aliases = {},
       .shape = options.shape,
       .init = options.init,
       .trainable = options.trainable && !frozen_.contains(declared.name),
       .decay = options.decay.value_or(options.shape.rank() >= 2),
       .positions = declared.positions});
  ids_[declared.name] = id;
  declared.parameter->id_ = id;
}

void Model::index() {
  parameters_.clear();
  ids_.clear();
  for (const Declared& declared : declared_)
    if (!ties_.contains(declared.name)) place(declared);
  for (const Declared& declared : declared_) {
    const auto tie = ties_.find(declared.name);
    if (tie == ties_.end()) continue;
    const int id = ids_.at(tie->second);
    ParameterInfo& shared = parameters_[static_cast<std::size_t>(id)];
    shared.aliases.push_back(declared.name);
    if (frozen_.contains(declared.name)) shared.trainable = false;
    auto& at = shared.positions;
    at.insert(at.end(), declared.positions.begin(), declared.positions.end());
    std::ranges::sort(at);
    at.erase(std::ranges::unique(at).begin(), at.end());
    ids_[declared.name] = id;
    declared.parameter->id_ = id;
  }
}

std::vector<std::string> Model::names() const {
  std::vector<std::string> result;
  for (const Declared& declared : declared_) result.push_back(declared.name);
  return result;
}

int Model::find(std::string_view name) const {
  const auto found = ids_.find(std::string(name));
  if (found != ids_.end()) return found->second;
  throw UsageError(fmt::format(
      "the model has no parameter \"{}\"; the nearest name is \"{}\"", name,
      nearest(name, names())));
}

std::int64_t Model::numel() const {
  std::int64_t total = 0;
  for (const ParameterInfo& info : parameters_) total += info.shape.numel();
  return total;
}

std::int64_t Model::trainable_numel() const {
  std::int64_t total = 0;
  for (const ParameterInfo& info : parameters_)
    if (info.trainable) total += info.shape.numel();
  return total;
}

}  // namespace quire::nn
