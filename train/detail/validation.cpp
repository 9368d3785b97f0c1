#include "quire/train/detail/validation.h"

#include <fmt/format.h>

#include <limits>

#include "quire/core/error.h"

namespace quire::train {

EvaluateResult evaluate_over(engine::Engine& engine,
                             const data::EvaluationWindows& windows) {
  if (windows.lanes() > std::numeric_limits<int>::max()) {
    throw UsageError(
        fmt::format("the text has {} lanes of windows; at most {} are "
                    "evaluated: raise batch.lane_samples",
                    windows.lanes(), std::numeric_limits<int>::max()));
  }
  const auto lanes = static_cast<int>(windows.lanes());
  const engine::Evaluation sum =
      engine.evaluate(lanes, [&](int lane) { return windows.batch(lane); });
  if (sum.weight != windows.targets()) {
    throw SystemError(
        fmt::format("an evaluation counted {} targets of a text that has {}",
                    sum.weight, windows.targets()));
  }
  return {.loss = sum.loss, .targets = sum.weight};
}

}  // namespace quire::train
