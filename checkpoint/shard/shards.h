// A checkpoint's shard files against its manifest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quire/checkpoint/manifest.h"
#include "quire/checkpoint/safetensors.h"

namespace quire::checkpoint {

// Opens the file in `folder`; UsageError unless it is a regular file of that
// name with the size and the header that are given. `others` as
// SafetensorsFile's.
SafetensorsFile open_shard(
    const std::string& folder, const ShardFile& file,
    std::shared_ptr<OpenFiles> others = std::make_shared<OpenFiles>());

// The shards of a checkpoint, opened as they are asked for; those used last
// stay open, whatever the number of ranks that wrote.
class OpenShards {
 public:
  static constexpr std::size_t kMost = 32;

  // Valid until kMost others have been asked for. As open_shard.
  const SafetensorsFile& get(const std::string& folder,
                             const Manifest& manifest, int index);

 private:
  struct Open {
    int index;
    SafetensorsFile file;
  };
  std::list<Open> open_;  // the last one used first
};

// A part of a tensor, as it lies in an open shard.
struct StoredPart {
  const SafetensorsFile* file;
  const ManifestPart* part;
  DType dtype;
  std::string name;               // "KIND:PARAMETER"
  const SafetensorsEntry* data;   // [count]
  const SafetensorsEntry* tiles;  // u64 [tiles_of(count)]

  std::int64_t element() const { return size_of(dtype); }
};
struct PartName {
  std::string_view kind;
  std::string_view parameter;
};
// UsageError unless both tensors are there with the type and the length that
// the manifest says.
StoredPart find_part(const SafetensorsFile& file, const PartName& name,
                     const ManifestState& state, const ManifestPart& part);

// The hashes of tiles [first, first + count) of a tensor "tiles:...".
std::vector<std::uint64_t> read_tiles(const SafetensorsFile& file,
                                      const SafetensorsEntry& tiles,
                                      std::int64_t first, std::int64_t count);

// At most this many tiles are in memory at once.
inline constexpr std::int64_t kTilesAtOnce = 1024;

}  // namespace quire::checkpoint
