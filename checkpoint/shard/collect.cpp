#include "quire/checkpoint/shard/collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>

#include "quire/checkpoint/shard/shard_writer.h"
#include "quire/checkpoint/shard/shards.h"
#include "quire/checkpoint/tile_hash.h"
#include "quire/core/error.h"

namespace quire::checkpoint {
namespace {

// By parameter, then by kind.
using Found = std::map<std::string, std::map<std::string, ManifestState>>;

std::int64_t first_of(const SafetensorsFile& file, const std::string& tensor) {
  const auto found = file.metadata().find(first_key(tensor));
  std::int64_t first = -1;
  if (found != file.metadata().end())
    std::from_chars(found->second.data(),
                    found->second.data() + found->second.size(), first);
  return first;
}

void find_parts(const SafetensorsFile& file, int index, Found& found) {
  for (const auto& entry : file.entries()) {
    if (!file.metadata().contains(first_key(entry.name))) continue;
    const auto colon = entry.name.find(':');
    const std::string kind = entry.name.substr(0, colon);
    auto& states = found[entry.name.substr(colon + 1)];
    const auto [state, fresh] = states.try_emplace(
        kind,
        ManifestState{
            .kind = kind, .dtype = entry.type.value(), .hash = 0, .parts = {}});
    if (!fresh && state->second.dtype != entry.type)
      throw UsageError(fmt::format("{}: the ranks give {} and {}", entry.name,
                                   name_of(state->second.dtype),
                                   name_of(*entry.type)));
    state->second.parts.push_back({.file = index,
                                   .first = first_of(file, entry.name),
                                   .count = entry.numel,
                                   .hash = 0});
  }
}

// The hashes of a part's tiles go into its own hash and into the tensor's.
void hash_part(const SafetensorsFile& file, const std::string& tiles,
               ManifestPart& part, Hasher& whole) {
  const SafetensorsEntry& entry = file.at(tiles);
  Hasher own;
  for (std::int64_t at = 0; at < entry.numel; at += kTilesAtOnce) {
    const auto hashes =
        read_tiles(file, entry, at, std::min(kTilesAtOnce, entry.numel - at));
    add_tiles(own, hashes);
    add_tiles(whole, hashes);
  }
  part.hash = own.digest();
}

void hash_state(const std::vector<SafetensorsFile>& files,
                const std::string& parameter, ManifestState& state) {
  std::ranges::sort(state.parts, {}, &ManifestPart::first);
  Hasher whole;
  for (auto& part : state.parts)
    hash_part(files[static_cast<std::size_t>(part.file)],
              tiles_name(state.kind, parameter), part, whole);
  state.hash = whole.digest();
}

// A tensor without elements is in no file.
void add_empty_states(const SaveRequest& request, Found& found) {
  for (const auto& part : request.parts)
    if (part.data.numel() == 0)
      found[part.parameter].try_emplace(
          part.kind, ManifestState{.kind = part.kind,
                                   .dtype = part.data.dtype(),
                                   .hash = Hasher().digest(),
                                   .parts = {}});
}

Manifest frame_of(const SaveRequest& request, std::vector<ShardFile> files) {
  Manifest manifest;
  manifest.progress = request.progress;
  manifest.config = request.config;
  manifest.kernels = request.kernels;
  manifest.notes = request.notes;
  manifest.ranks = static_cast<int>(files.size());
  manifest.files = std::move(files);
  return manifest;
}

}  // namespace

Manifest collect(const std::string& folder, std::vector<ShardFile> files,
                 const SaveRequest& request,
                 const std::function<void()>& busy) {
  Manifest manifest = frame_of(request, std::move(files));
  const auto open = std::make_shared<OpenFiles>();
  std::vector<SafetensorsFile> shards;
  Found found;
  for (const auto& file : manifest.files) {
    shards.push_back(open_shard(folder, file, open));
    find_parts(shards.back(), static_cast<int>(shards.size()) - 1, found);
    busy();
  }
  add_empty_states(request, found);
  for (const auto& known : request.parameters) {
    ManifestParameter parameter{.name = known.name,
                                .shape = known.shape,
                                .trainable = known.trainable,
                                .states = {}};
    for (auto& [kind, state] : found[known.name]) {
      hash_state(shards, known.name, state);
      parameter.states.push_back(std::move(state));
      busy();
    }
    if (parameter.states.empty())
      throw UsageError(known.name + ": no rank gave anything of it to save");
    manifest.parameters.push_back(std::move(parameter));
  }
  return manifest;
}

}  // namespace quire::checkpoint
