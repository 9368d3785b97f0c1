#include "quire/checkpoint/shard/part_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "quire/checkpoint/tile_hash.h"
#include "quire/core/error.h"

namespace quire::checkpoint {

PartReader::PartReader(const StoredPart& stored)
    : stored_(stored),
      tiles_(read_tiles(*stored.file, *stored.tiles, 0, stored.tiles->numel)) {
  Hasher hasher;
  add_tiles(hasher, tiles_);
  if (hasher.digest() != stored.part->hash)
    throw SystemError(fmt::format(
        "{}: tensor \"{}\": the hashes of its tiles are not those of the "
        "manifest: the file is damaged or of another checkpoint; restore it or "
        "use another step",
        stored.file->path(), stored.name));
}

std::string PartReader::damage(std::int64_t begin_tile,
                               std::int64_t end_tile) const {
  const std::int64_t end = std::min(end_tile * kTile, stored_.part->count);
  return fmt::format(
      "{}: tensor \"{}\": elements [{}, {}) fail their hash: the file is "
      "damaged; restore it or use another step",
      stored_.file->path(), stored_.name,
      stored_.part->first + begin_tile * kTile, stored_.part->first + end);
}

void PartReader::read_tiles_at(
    std::int64_t first, std::int64_t count, std::vector<std::byte>& buffer,
    const std::function<void(std::int64_t)>& fails) const {
  const std::int64_t begin = first * kTile;
  const std::int64_t elements =
      std::min(count * kTile, stored_.part->count - begin);
  buffer.resize(static_cast<std::size_t>(elements * stored_.element()));
  stored_.file->read(*stored_.data, begin, elements, buffer);
  const auto hashes = tile_hashes(buffer, stored_.element());
  for (std::int64_t i = 0; i < count; ++i)
    if (hashes[static_cast<std::size_t>(i)] !=
        tiles_[static_cast<std::size_t>(first + i)])
      fails(first + i);
}

void PartReader::read(std::int64_t first, std::int64_t count,
                      std::byte* out) const {
  const std::int64_t element = stored_.element();
  const std::int64_t end = first + count;
  const std::int64_t end_tile = tiles_of(end);
  std::vector<std::byte> buffer;
  for (std::int64_t tile = first / kTile; count != 0 && tile < end_tile;
       tile += kTilesAtOnce) {
    const std::int64_t tiles = std::min(kTilesAtOnce, end_tile - tile);
    read_tiles_at(tile, tiles, buffer, [&](std::int64_t bad) {
      throw SystemError(damage(bad, bad + 1));
    });
    const std::int64_t from = std::max(first, tile * kTile);
    const std::int64_t to = std::min(end, (tile + tiles) * kTile);
    std::memcpy(out + (from - first) * element,
                buffer.data() + (from - tile * kTile) * element,
                static_cast<std::size_t>((to - from) * element));
  }
}

void PartReader::check(const std::function<void(std::string)>& tell) const {
  const auto count = static_cast<std::int64_t>(tiles_.size());
  std::int64_t begin = -1, end = -1;  // of the run of bad tiles so far
  std::vector<std::byte> buffer;
  for (std::int64_t tile = 0; tile < count; tile += kTilesAtOnce)
    read_tiles_at(tile, std::min(kTilesAtOnce, count - tile), buffer,
                  [&](std::int64_t bad) {
                    if (bad != end) {
                      if (begin >= 0) tell(damage(begin, end));
                      begin = bad;
                    }
                    end = bad + 1;
                  });
  if (begin >= 0) tell(damage(begin, end));
}

}  // namespace quire::checkpoint
