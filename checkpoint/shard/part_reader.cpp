#include "quire/checkpoint/shard/part_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "quire/checkpoint/tile_hash.h"
#include "quire/core/error.h"
#include "quire/core/file_io.h"

namespace quire::checkpoint {

std::vector<std::uint64_t> checked_tiles(const StoredPart& stored) {
  auto tiles = read_tiles(*stored.file, *stored.tiles, 0, stored.tiles->numel);
  Hasher hasher;
  add_tiles(hasher, tiles);
  if (hasher.digest() == stored.part->hash) return tiles;
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
    std::int64_t first, std::span<std::byte> out,
    const std::function<void(std::int64_t)>& fails) const {
  const auto count = static_cast<std::int64_t>(out.size()) / stored_.element();
  stored_.file->read(*stored_.data, first * kTile, count, out);
  std::int64_t tile = first;
  for (const std::uint64_t hash : tile_hashes(out, stored_.element())) {
    if (hash != tiles_[static_cast<std::size_t>(tile)]) fails(tile);
    ++tile;
  }
}

void PartReader::read(std::int64_t first, std::int64_t count,
                      std::byte* out) const {
  const std::int64_t end = first + count;
  std::int64_t to = 0;
  for (std::int64_t from = first; from < end; from = to) {
    to = std::min(end, (from / kTile + kTilesAtOnce) * kTile);
    read_turn(from, to, out + (from - first) * stored_.element());
  }
}

void PartReader::read_turn(std::int64_t from, std::int64_t to,
                           std::byte* out) const {
  const std::int64_t tile = from / kTile, begin = tile * kTile;
  const std::int64_t end = std::min(tiles_of(to) * kTile, stored_.part->count);
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<std::size_t>(elements * stored_.element());
  };
  const auto fails = [&](std::int64_t bad) {
    throw SystemError(damage(bad, bad + 1));
  };
  if (from == begin && to == end)
    return read_tiles_at(tile, {out, bytes(to - from)}, fails);
  std::vector<std::byte> tiles(bytes(end - begin));
  read_tiles_at(tile, tiles, fails);
  std::memcpy(out, tiles.data() + bytes(from - begin), bytes(to - from));
}

void PartReader::check(const std::function<void(std::string)>& tell) const {
  const std::int64_t count = stored_.part->count;
  std::int64_t begin = -1, end = -1;  // of the run of bad tiles so far
  const auto tell_run = [&] {
    if (begin >= 0) tell(damage(begin, end));
  };
  const auto fails = [&](std::int64_t bad) {
    if (bad != end) {
      tell_run();
      begin = bad;
    }
    end = bad + 1;
  };
  std::vector<std::byte> tiles;
  for (std::int64_t at = 0; at < count; at += kTilesAtOnce * kTile) {
    tiles.resize(static_cast<std::size_t>(
        std::min(kTilesAtOnce * kTile, count - at) * stored_.element()));
    try {
      read_tiles_at(at / kTile, tiles, fails);
    } catch (const FileError&) {
      tell_run();
      throw;
    }
  }
  tell_run();
}

}  // namespace quire::checkpoint
