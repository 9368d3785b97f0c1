// What the keys of the model section mean together.
#pragma once

#include <optional>

#include "quire/models/options.h"
#include "quire/train/keys/document.h"

namespace quire::train {

// Fills what the model section leaves out with what model.from has, and returns
// that; nullopt if nothing is left out: then its files are not looked at.
std::optional<models::Options> fill_model(ConfigDocument& document);

// Defaults that other keys decide, then what keys must be beside one another.
void settle_model(const ConfigDocument& document, RunConfig& config);

// Refuses the first key that says something else than model.from.
void check_origin(const ConfigDocument& document, const RunConfig& config,
                  const models::Options& theirs);

}  // namespace quire::train
