#include "quire/comm/failure.h"

#include <fmt/format.h>

namespace quire::comm {

std::string Failure::to_string() const {
  std::string text;
  if (rank >= 0) text += fmt::format("rank {}: ", rank);
  if (step >= 0) text += fmt::format("step {}: ", step);
  if (!layer.empty()) text += fmt::format("layer {}: ", layer);
  return text + message;
}

}  // namespace quire::comm
