// A model's initial values from files, each rank reading what it holds.
//
//   const auto weights = convert::open_weights(path, {.partial = true});
//   load_values(engine, model, *weights, {.fresh = {"head.*"}});
//
// Names must fit, both ways, and shapes too, but for what the rules let go;
// convert::OpenOptions::rename gives a tensor another name first.
#pragma once

#include <string>
#include <vector>

#include "quire/convert/weights.h"
#include "quire/engine/engine.h"
#include "quire/nn/model.h"

namespace quire::train {

// Patterns of names ('*' and '?'; '*' crosses dots).
struct LoadRules {
  // Parameters of the model, under any of their names, that keep the values
  // that they have, whatever the files hold: a new head.
  std::vector<std::string> fresh = {};
  // Tensors of the files that the model has no place for and that are not
  // wanted.
  std::vector<std::string> ignore = {};
};

// What the rules let go, by name.
struct LoadReport {
  std::int64_t loaded = 0;  // parameters
  std::vector<std::string> fresh = {};
  std::vector<std::string> ignored = {};
};

// Fills masters and frozen values of an engine before its first step, widened
// from the type in which they are stored; states of the optimizer stay as they
// are. `model` is the engine's. UsageError, before anything is changed, that
// lists all names that are missing, unexpected or of another shape, and
// patterns that match nothing. Every rank calls it.
LoadReport load_values(engine::Engine& engine, const nn::Model& model,
                       const convert::Weights& weights,
                       const LoadRules& rules = {});

}  // namespace quire::train
