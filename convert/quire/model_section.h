// The "model" section of a configuration, as a checkpoint keeps it: a model's
// type and its options by their names.
#pragma once

#include <string>

#include "quire/checkpoint/json.h"
#include "quire/models/options.h"

namespace quire::convert {

// Of a configuration. UsageError naming the key that is unknown, missing or of
// another type. Keys that say where a run's values came from are passed over.
models::Options read_model_section(const checkpoint::Json& config);

// A configuration of that section alone, on one line.
std::string model_section_of(const models::Options& options);

}  // namespace quire::convert
