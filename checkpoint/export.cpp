#include "quire/checkpoint/export.h"

#include <fmt/format.h>

#include <algorithm>

#include "quire/checkpoint/json.h"
#include "quire/checkpoint/safetensors.h"
#include "quire/checkpoint/shard/collect.h"
#include "quire/checkpoint/shard/shard_writer.h"
#include "quire/checkpoint/shard/shards.h"
#include "quire/checkpoint/tile_hash.h"
#include "quire/core/error.h"

namespace quire::checkpoint {
namespace {

constexpr int kMostShards = 1 << 20;

// Elements [first, first + count) of a state, which go into one file.
struct Slice {
  const ExportedParameter* parameter;
  const ExportedState* state;
  std::int64_t first, count;
};

// The tiles of all parameters, one after the other, fall into equal shares.
std::vector<std::vector<Slice>> cut(const ExportRequest& request) {
  std::int64_t tiles = 0;
  for (const auto& parameter : request.parameters)
    tiles += tiles_of(parameter.shape.numel());
  const std::int64_t share =
      std::max<std::int64_t>(1, divide_up(tiles, request.shards));
  std::vector<std::vector<Slice>> shards(
      static_cast<std::size_t>(request.shards));
  std::int64_t begin = 0;  // of the parameter, in tiles
  for (const auto& parameter : request.parameters) {
    const std::int64_t numel = parameter.shape.numel();
    const std::int64_t end = begin + tiles_of(numel);
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t shard = at / share;
      const std::int64_t next = std::min(end, (shard + 1) * share);
      const std::int64_t first = (at - begin) * kTile;
      const std::int64_t last = std::min(numel, (next - begin) * kTile);
      for (const auto& state : parameter.states)
        shards[static_cast<std::size_t>(shard)].push_back(
            {&parameter, &state, first, last - first});
      at = next;
    }
    begin = end;
  }
  return shards;
}

// Whole tiles at a time.
void read_blocks(const ExportRequest& request, const Slice& slice,
                 const ByteSink& sink) {
  constexpr std::int64_t kAtOnce = kTilesAtOnce * kTile;
  std::vector<std::byte> block;
  for (std::int64_t at = 0; at < slice.count; at += kAtOnce) {
    const std::int64_t count = std::min(kAtOnce, slice.count - at);
    block.resize(static_cast<std::size_t>(count * size_of(slice.state->dtype)));
    request.read(*slice.parameter, *slice.state, slice.first + at, block);
    sink(block);
  }
}

ShardFile write_slices(const std::string& path, const ExportRequest& request,
                       const std::vector<Slice>& slices) {
  std::vector<ShardTensor> tensors;
  for (const auto& slice : slices)
    tensors.push_back({.kind = slice.state->kind,
                       .parameter = slice.parameter->name,
                       .dtype = slice.state->dtype,
                       .first = slice.first,
                       .count = slice.count,
                       .give = [&request, slice](const ByteSink& sink) {
                         read_blocks(request, slice, sink);
                       }});
  return write_shard(path, request.progress.step, tensors, request.observer);
}

// What the manifest takes from a save; no part is held.
SaveRequest frame_of(const ExportRequest& request) {
  SaveRequest frame;
  for (const auto& parameter : request.parameters)
    frame.parameters.push_back(
        {parameter.name, parameter.shape, parameter.trainable});
  frame.progress = request.progress;
  frame.config = request.config;
  frame.kernels = request.kernels;
  frame.notes = request.notes;
  return frame;
}

void check_request(const ExportRequest& request) {
  if (request.shards < 1 || request.shards > kMostShards)
    throw UsageError(fmt::format("got {} shards; expected 1 to {}",
                                 request.shards, kMostShards));
  Json::parse(request.config, "the configuration to save").members();
}

}  // namespace

std::uint64_t export_checkpoint(const std::string& folder,
                                const ExportRequest& request) {
  check_request(request);
  std::vector<ShardFile> files;
  for (const auto& slices : cut(request)) {
    const auto name =
        shard_name(static_cast<int>(files.size()), request.shards);
    files.push_back(write_slices(joined(folder, name), request, slices));
  }
  const Manifest manifest =
      collect(folder, std::move(files), frame_of(request), [] {});
  write_text(joined(folder, kConfigName), config_text(request.config),
             request.observer);
  write_text(joined(folder, kManifestName), to_text(manifest),
             request.observer);
  return manifest.fingerprint();
}

}  // namespace quire::checkpoint
