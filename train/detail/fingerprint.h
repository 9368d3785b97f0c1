// The fingerprint of a state that lies on no disk: every rank hashes the tiles
// that it owns, all tell them, and the manifest's rule does the rest.
#pragma once

#include <cstdint>

#include "quire/train/detail/state.h"

namespace quire::train {

// Collective: what save_state would give.
std::uint64_t fingerprint(const RankState& state);

}  // namespace quire::train
