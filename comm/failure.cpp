#include "quire/comm/failure.h"

#include <fmt/format.h>

namespace quire::comm {

std::string Failure::place() const {
  if (layer.empty() || phase.empty())
    return layer.empty() ? phase : fmt::format("layer {}", layer);
  if (phase == "save" || phase == "load")
    return fmt::format("{} of {}", phase, layer);
  return fmt::format("layer {} ({})", layer, phase);
}

std::string Failure::to_string() const {
  std::string text;
  if (rank >= 0) text += fmt::format("rank {}: ", rank);
  if (step >= 0) text += fmt::format("step {}: ", step);
  if (const std::string where = place(); !where.empty()) text += where + ": ";
  return text + message;
}

}  // namespace quire::comm
