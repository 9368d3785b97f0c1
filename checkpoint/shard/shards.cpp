#include "quire/checkpoint/shard/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "quire/core/error.h"
#include "quire/core/hash.h"
#include "quire/core/tile.h"

namespace quire::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little,
              "checkpoints are little endian and read as they lie");

constexpr std::string_view kTilesType = "U64";

const SafetensorsEntry& entry_of(const SafetensorsFile& file,
                                 const std::string& name,
                                 std::string_view dtype, std::int64_t numel) {
  const SafetensorsEntry& entry = file.at(name);
  if (entry.dtype != dtype || entry.shape != std::vector<std::int64_t>{numel})
    throw UsageError(fmt::format(
        "{}: tensor \"{}\" is {} with {} elements; the manifest says {} [{}]",
        file.path(), name, entry.dtype, entry.numel, dtype, numel));
  return entry;
}

}  // namespace

SafetensorsFile open_shard(const std::string& folder, const ShardFile& file,
                           std::shared_ptr<OpenFiles> others) {
  if (!is_plain_name(file.name))
    throw UsageError(fmt::format("{:?} is no plain file name", file.name));
  SafetensorsFile open(joined(folder, file.name), File::Links::kRefuse,
                       std::move(others));
  if (open.bytes() != file.bytes)
    throw UsageError(fmt::format(
        "{} has {} bytes; the manifest says {}: it was cut short or is of "
        "another checkpoint; restore it or use another step",
        open.path(), open.bytes(), file.bytes));
  if (open.header_checksum() != file.header_checksum)
    throw UsageError(fmt::format(
        "{} has the header {}; the manifest says {}: it belongs to another "
        "checkpoint or was changed",
        open.path(), to_hex(open.header_checksum()),
        to_hex(file.header_checksum)));
  return open;
}

const SafetensorsFile& OpenShards::get(const std::string& folder,
                                       const Manifest& manifest, int index) {
  const auto found = std::ranges::find(open_, index, &Open::index);
  if (found != open_.end()) {
    open_.splice(open_.begin(), open_, found);
    return open_.front().file;
  }
  const auto& file = manifest.files[static_cast<std::size_t>(index)];
  open_.push_front({index, open_shard(folder, file)});
  if (open_.size() > kMost) open_.pop_back();
  return open_.front().file;
}

StoredPart find_part(const SafetensorsFile& file, const PartName& name,
                     const ManifestState& state, const ManifestPart& part) {
  StoredPart stored{.file = &file,
                    .part = &part,
                    .dtype = state.dtype,
                    .name = tensor_name(name.kind, name.parameter),
                    .data = nullptr,
                    .tiles = nullptr};
  stored.data =
      &entry_of(file, stored.name, safetensors_dtype(state.dtype), part.count);
  stored.tiles = &entry_of(file, tiles_name(name.kind, name.parameter),
                           kTilesType, tiles_of(part.count));
  return stored;
}

std::vector<std::uint64_t> read_tiles(const SafetensorsFile& file,
                                      const SafetensorsEntry& tiles,
                                      std::int64_t first, std::int64_t count) {
  std::vector<std::uint64_t> hashes(static_cast<std::size_t>(count));
  file.read(tiles, first, count, std::as_writable_bytes(std::span(hashes)));
  return hashes;
}

}  // namespace quire::checkpoint
