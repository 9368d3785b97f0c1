// From an engine to a checkpoint.
#pragma once

#include <string>

#include "quire/checkpoint/save.h"
#include "quire/quire.h"

struct Rank {
  const quire::nn::Model& model;
  const quire::engine::Engine& engine;
  quire::comm::Communicator& communicator;
};

// Every rank writes what it answers for; together that is the whole state.
// Collective. `quire inspect` and `quire verify` read it; what else the command
// does with a checkpoint needs a run's configuration in it (SaveRequest).
void save(const std::string& folder, const quire::checkpoint::Progress& done,
          const Rank& rank);
