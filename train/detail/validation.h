// A whole text through an engine.
#pragma once

#include "quire/data/evaluation_windows.h"
#include "quire/engine/engine.h"
#include "quire/train/result.h"

namespace quire::train {

// Collective.
EvaluateResult evaluate_over(engine::Engine& engine,
                             const data::EvaluationWindows& windows);

}  // namespace quire::train
