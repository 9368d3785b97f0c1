#include "quire/checkpoint/shard/shard_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <unordered_map>

#include "quire/checkpoint/safetensors.h"
#include "quire/checkpoint/shard/shards.h"
#include "quire/checkpoint/tile_hash.h"
#include "quire/core/error.h"

namespace quire::checkpoint {
namespace {

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {tensor.raw(), static_cast<std::size_t>(tensor.bytes())};
}

void check_part(const Part& part, std::int64_t numel) {
  const std::string name = tensor_name(part.kind, part.parameter);
  if (!part.data.defined() || part.data.is_meta())
    throw UsageError(name + ": the part to save has no values");
  const std::int64_t count = part.data.numel();
  const bool inside =
      part.first >= 0 && part.first <= numel && count <= numel - part.first;
  const bool whole = part.first % kTile == 0 &&
                     (count % kTile == 0 || part.first + count == numel);
  if (!inside || !whole)
    throw UsageError(fmt::format(
        "{}: got the part [{}, {} + {}) of {} elements; expected whole tiles "
        "of {} inside the parameter",
        name, part.first, part.first, count, numel, kTile));
}

// Filled while the values are written: what has just been hashed is in the
// cache when it is copied to the disk's.
using Hashes = std::shared_ptr<std::vector<std::uint64_t>>;

void give_data(const Tensor& data, const Hashes& hashes, const ByteSink& sink) {
  const auto bytes = bytes_of(data);
  const auto chunk =
      static_cast<std::size_t>(kTilesAtOnce * kTile * size_of(data.dtype()));
  for (std::size_t at = 0; at < bytes.size(); at += chunk) {
    const auto part = bytes.subspan(at, std::min(chunk, bytes.size() - at));
    const auto of_part = tile_hashes(part, size_of(data.dtype()));
    hashes->insert(hashes->end(), of_part.begin(), of_part.end());
    sink(part);
  }
}

SafetensorsTensor data_of(const Part& part, const Hashes& hashes) {
  return {.name = tensor_name(part.kind, part.parameter),
          .dtype = std::string(safetensors_dtype(part.data.dtype())),
          .shape = {part.data.numel()},
          .give = [data = part.data, hashes](const ByteSink& sink) {
            give_data(data, hashes, sink);
          }};
}

SafetensorsTensor tiles_of_part(const Part& part, const Hashes& hashes) {
  return {.name = tiles_name(part.kind, part.parameter),
          .dtype = "U64",
          .shape = {tiles_of(part.data.numel())},
          .give =
              [hashes](const ByteSink& sink) {
                sink(std::as_bytes(std::span(*hashes)));
              },
          .late = true};
}

}  // namespace

std::string shard_name(int rank, int ranks) {
  return fmt::format("shard-{:05}-of-{:05}.safetensors", rank, ranks);
}

std::string first_key(const std::string& tensor) { return "first:" + tensor; }

void check_parts(const SaveRequest& request) {
  std::unordered_map<std::string_view, std::int64_t> numels;
  for (const auto& parameter : request.parameters)
    numels[parameter.name] = parameter.shape.numel();
  std::set<std::string> names;
  for (const auto& part : request.parts) {
    const std::string name = tensor_name(part.kind, part.parameter);
    const auto numel = numels.find(part.parameter);
    if (numel == numels.end())
      throw UsageError(name + ": the parameter is not among those to save");
    if (!names.insert(name).second)
      throw UsageError(name + ": a rank gives one range of a tensor, got two");
    check_part(part, numel->second);
  }
}

ShardFile write_shard(const std::string& folder, const std::string& name,
                      const SaveRequest& request,
                      const FileObserver& observer) {
  std::vector<SafetensorsTensor> tensors;
  std::map<std::string, std::string> metadata = {
      {"quire.step", std::to_string(request.progress.step)}};
  for (const auto& part : request.parts) {
    if (part.data.numel() == 0) continue;
    const auto hashes = std::make_shared<std::vector<std::uint64_t>>();
    tensors.push_back(data_of(part, hashes));
    metadata[first_key(tensors.back().name)] = std::to_string(part.first);
    tensors.push_back(tiles_of_part(part, hashes));
  }
  const auto written = write_safetensors(
      joined(folder, name), std::move(tensors), std::move(metadata), observer);
  return {.name = name,
          .bytes = written.bytes,
          .header_checksum = written.header_checksum};
}

}  // namespace quire::checkpoint
