// The initial values of a new run from `model.from`.
#pragma once

#include <string>
#include <vector>

#include "quire/train/config.h"
#include "quire/train/detail/state.h"

namespace quire::train {

// Collective. What was taken and what the configuration's patterns let go, one
// line each. UsageError if the model there is another one, or as load_values.
std::vector<std::string> load_initial(const RankState& state,
                                      const RunConfig& config);

}  // namespace quire::train
