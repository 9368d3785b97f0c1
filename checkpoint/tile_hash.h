// Hashes of what is sharded by tiles: a tile's is XXH3-64 of its bytes (the
// last one of a parameter may be short), a range's is XXH3-64 over its tiles'
// hashes in order, eight bytes each, little endian. So the hash of a tensor
// does not depend on how it is cut.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "quire/core/hash.h"
#include "quire/core/tile.h"

namespace quire::checkpoint {

// Of a range that starts on a tile; `element` bytes each.
inline std::vector<std::uint64_t> tile_hashes(std::span<const std::byte> bytes,
                                              std::int64_t element) {
  const auto tile = static_cast<std::size_t>(kTile * element);
  std::vector<std::uint64_t> hashes;
  hashes.reserve((bytes.size() + tile - 1) / tile);
  for (std::size_t at = 0; at < bytes.size(); at += tile)
    hashes.push_back(
        hash64(bytes.subspan(at, std::min(tile, bytes.size() - at))));
  return hashes;
}

inline void add_tiles(Hasher& hasher, std::span<const std::uint64_t> hashes) {
  for (const std::uint64_t hash : hashes) hasher.add(hash);
}

}  // namespace quire::checkpoint
