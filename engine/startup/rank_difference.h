// Compares a text of many lines between ranks.
#pragma once

#include <optional>
#include <string>

#include "quire/comm/communicator.h"

namespace quire::engine {

// The first rank whose text is not rank 0's, and the first line in which.
struct RankDifference {
  int rank;
  std::string zero;   // rank 0's line
  std::string other;  // the rank's
};

// Collective, with the same result on all ranks. Gathers hashes, and the texts
// themselves only if these differ.
std::optional<RankDifference> first_difference(comm::Communicator& communicator,
                                               const std::string& text,
                                               const comm::Call& call);

}  // namespace quire::engine
