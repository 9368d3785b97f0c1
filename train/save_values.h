// What a program of its own has trained, saved so that it can be opened: by
// convert::open_weights, and so by every subcommand that takes a model.
#pragma once

#include <cstdint>
#include <string>

#include "quire/comm/communicator.h"
#include "quire/convert/weights.h"
#include "quire/engine/engine.h"
#include "quire/nn/model.h"

namespace quire::train {

// All are borrowed.
struct Trained {
  const engine::Engine* engine;
  const nn::Model* model;  // the engine's
  // What the model was loaded from; its description goes along.
  const convert::Weights* origin;
  std::int64_t steps;
};

// Collective: the whole state, as a checkpoint of that step in `folder`.
// Returns its fingerprint. Throws what checkpoint::save does.
std::uint64_t save_values(const std::string& folder, const Trained& trained,
                          comm::Communicator& communicator);

}  // namespace quire::train
