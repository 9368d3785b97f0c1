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

// Of the tensor that is being written.
using Hashes = std::shared_ptr<std::vector<std::uint64_t>>;

SafetensorsTensor values_of(const ShardTensor& tensor, const Hashes& hashes) {
  return {.name = tensor_name(tensor.kind, tensor.parameter),
          .dtype = std::string(safetensors_dtype(tensor.dtype)),
          .shape = {tensor.count},
          .give = [tensor, hashes](const ByteSink& sink) {
            hashes->clear();
            tensor.give([&](std::span<const std::byte> bytes) {
              const auto some = tile_hashes(bytes, size_of(tensor.dtype));
              hashes->insert(hashes->end(), some.begin(), some.end());
              sink(bytes);
            });
          }};
}

SafetensorsTensor tiles_of_tensor(const ShardTensor& tensor,
                                  const Hashes& hashes) {
  return {.name = tiles_name(tensor.kind, tensor.parameter),
          .dtype = "U64",
          .shape = {tiles_of(tensor.count)},
          .give =
              [hashes](const ByteSink& sink) {
                sink(std::as_bytes(std::span(*hashes)));
              },
          .behind = tensor_name(tensor.kind, tensor.parameter)};
}

ShardTensor tensor_of(const Part& part) {
  const auto give = [data = part.data](const ByteSink& sink) {
    const auto bytes = bytes_of(data);
    const auto chunk =
        static_cast<std::size_t>(kTilesAtOnce * kTile * size_of(data.dtype()));
    for (std::size_t at = 0; at < bytes.size(); at += chunk)
      sink(bytes.subspan(at, std::min(chunk, bytes.size() - at)));
  };
  return {.kind = part.kind,
          .parameter = part.parameter,
          .dtype = part.data.dtype(),
          .first = part.first,
          .count = part.data.numel(),
          .give = give};
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

ShardFile write_shard(const std::string& path, std::int64_t step,
                      std::span<const ShardTensor> tensors,
                      const FileObserver& observer) {
  const auto hashes = std::make_shared<std::vector<std::uint64_t>>();
  std::vector<SafetensorsTensor> written;
  std::map<std::string, std::string> metadata = {
      {"quire.step", std::to_string(step)}};
  for (const auto& tensor : tensors) {
    written.push_back(values_of(tensor, hashes));
    metadata[first_key(written.back().name)] = std::to_string(tensor.first);
    written.push_back(tiles_of_tensor(tensor, hashes));
  }
  const auto file = write_safetensors(path, std::move(written),
                                      std::move(metadata), observer);
  return {.name = path.substr(path.rfind('/') + 1),
          .bytes = file.bytes,
          .header_checksum = file.header_checksum};
}

ShardFile write_shard(const std::string& path, const SaveRequest& request,
                      const FileObserver& observer) {
  std::vector<ShardTensor> tensors;
  for (const auto& part : request.parts)
    if (part.data.numel() != 0) tensors.push_back(tensor_of(part));
  return write_shard(path, request.progress.step, tensors, observer);
}

}  // namespace quire::checkpoint
