// The atom of everything that is sharded: the optimizer updates tiles, the norm
// sums tiles, a shard ends between tiles.
#pragma once

#include <cstdint>

#include "quire/core/divide.h"

namespace quire {

inline constexpr std::int64_t kTile = 256;  // elements

constexpr std::int64_t tiles_of(std::int64_t numel) {
  return divide_up(numel, kTile);
}

}  // namespace quire
