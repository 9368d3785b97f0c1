// The initial values of a new run from `model.from`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quire/train/config.h"
#include "quire/train/detail/state.h"

namespace quire::train {

struct InitialWeights {
  // What is odd about the files, what was taken, and what the configuration's
  // patterns let go.
  std::vector<std::string> lines;
  std::map<std::string, std::string> notes;  // of the model, for checkpoints
};

// Collective. UsageError if the model there is another one, or as load_values.
InitialWeights load_initial(const RankState& state, const RunConfig& config);

}  // namespace quire::train
