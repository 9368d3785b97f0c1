// The model of `model.from` beside the one that a configuration describes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "quire/convert/weights.h"
#include "quire/train/config.h"

namespace quire::train {

// Whatever fits or does not: what is missing or too much is judged by the rules
// of the configuration. UsageError beginning with the key and the path.
std::unique_ptr<const convert::Weights> open_origin(const OriginConfig& origin);

// A key that says something else than the files do.
struct Disagreement {
  std::string key;
  std::string problem;
};
// The first. A dropout may differ, and what decides the shapes of fresh
// parameters alone.
std::optional<Disagreement> disagreement(const RunConfig& config,
                                         const models::Options& theirs);

}  // namespace quire::train
