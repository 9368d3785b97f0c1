// A part's values, checked tile by tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "quire/checkpoint/shard/shards.h"

namespace quire::checkpoint {

// The hashes of a part's tiles, checked against the part's in the manifest:
// SystemError if they differ.
std::vector<std::uint64_t> checked_tiles(const StoredPart& stored);

class PartReader {
 public:
  // Both are borrowed; `tiles` are the part's checked ones.
  PartReader(const StoredPart& stored, std::span<const std::uint64_t> tiles)
      : stored_(stored), tiles_(tiles) {}

  // out = elements [first, first + count) of the part. SystemError naming those
  // that fail their hash; `out` may hold anything then.
  void read(std::int64_t first, std::int64_t count, std::byte* out) const;
  // Reads all and tells of every run of tiles that fails, as elements of the
  // tensor; those before a read that fails are told of, too.
  void check(const std::function<void(std::string)>& tell) const;

 private:
  // Elements [from, to), at most kTilesAtOnce tiles of them; whole tiles are
  // read to where they belong.
  void read_turn(std::int64_t from, std::int64_t to, std::byte* out) const;
  // Tiles from `first` on, as many as `out` has room for; then fails(tile) for
  // each that does not have its hash.
  void read_tiles_at(std::int64_t first, std::span<std::byte> out,
                     const std::function<void(std::int64_t)>& fails) const;
  std::string damage(std::int64_t begin_tile, std::int64_t end_tile) const;

  const StoredPart& stored_;
  std::span<const std::uint64_t> tiles_;
};

}  // namespace quire::checkpoint
