// A model: an ordered list of layers. The engine walks it forwards and
// backwards with plain loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "quire/nn/layer.h"

namespace quire::nn {

// One parameter of the model; its index in Model::parameters() is the id that
// layers use.
struct ParameterInfo {
  std::string name;                  // "block.0.up.weight"
  std::vector<std::string> aliases;  // names tied to it
  Shape shape;
  Initializer init;
  bool trainable;
  bool decay;
  std::vector<int> positions;  // of the list, ascending: where it is used
};

// Built by one thread, then const and shared by all ranks of a process. Holds
// no values.
class Model {
 public:
  struct Position {
    std::string name;  // unique; keys random numbers, stands in messages
    const Layer* layer;
    // Gathered and reduced together with the position before.
    bool joins_previous = false;
  };
  struct Placement {
    bool joins_previous = false;
  };

  Model() = default;
  Model(Model&&) = default;
  Model& operator=(Model&&) = default;

  // Appends a layer. Throws UsageError if the name or that of a parameter is
  // empty or taken.
  template <class L>
  void add(std::string name, typename L::Options options) {
    add<L>(std::move(name), std::move(options), Placement{});
  }
  template <class L>
  void add(std::string name, typename L::Options options, Placement placement) {
    append(std::move(name), std::make_unique<L>(std::move(options)), placement);
  }
  // The layer that stands at `name` once more, under a name of its own: shared
  // parameters, other random numbers. UsageError if no layer has the name (with
  // the nearest), or `as` is empty or taken.
  void repeat(std::string_view name, std::string as);
  // The parameter `alias` becomes the one named `target`: equal shapes, one
  // value, one gradient, one state; initialiser and flags are the target's.
  // What was tied to `alias` comes along. Ids are given anew. UsageError unless
  // both are there, of equal shapes, and not one already.
  void tie(std::string_view alias, std::string_view target);
  // Every parameter whose name matches the glob ('*' and '?'; '*' crosses dots)
  // is not trained; a shared one if any of its names does. UsageError if none
  // does.
  void freeze(std::string_view glob);

  std::span<const Position> positions() const { return positions_; }
  std::span<const ParameterInfo> parameters() const { return parameters_; }
  // The parameter of an id. REQUIRES: 0 <= id < parameters().size().
  const ParameterInfo& parameter(int id) const {
    return parameters_[static_cast<std::size_t>(id)];
  }
  // The id of a name or alias; UsageError with the nearest name.
  int find(std::string_view name) const;
  std::int64_t numel() const;            // each shared parameter once
  std::int64_t trainable_numel() const;  // as numel

 private:
  // A parameter as its module declares it, under its own name.
  struct Declared {
    std::string name;
    Parameter* parameter;
    std::vector<int> positions;
  };

  void append(std::string name, std::unique_ptr<Layer> layer,
              Placement placement);
  void require_free(const std::string& name) const;
  std::vector<Declared> declared_by(const std::string& name, Layer& layer);
  void place(const Declared& declared);
  void index();
  std::vector<std::string> names() const;

  std::vector<Position> positions_;
  std::vector<std::shared_ptr<Layer>> layers_;
  std::vector<Declared> declared_;
  std::unordered_map<std::string, std::string> ties_;  // alias -> target
  std::unordered_set<std::string> frozen_;
  std::unordered_map<std::string, int> ids_;  // of names and aliases
  std::vector<ParameterInfo> parameters_;
};

}  // namespace quire::nn
