// One rank's file of a checkpoint.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "quire/checkpoint/manifest.h"
#include "quire/checkpoint/safetensors.h"
#include "quire/checkpoint/save_request.h"

namespace quire::checkpoint {

// "shard-00001-of-00004.safetensors", ranks from 0.
std::string shard_name(int rank, int ranks);

// The key of a shard's metadata that holds the first element of a tensor.
std::string first_key(const std::string& tensor);

// UsageError naming the part that is not as SaveRequest says.
void check_parts(const SaveRequest& request);

// A range of a state on its way into a shard.
struct ShardTensor {
  std::string kind, parameter;
  DType dtype;
  std::int64_t first, count;
  // Its values in order, whole tiles at a time (the last one may be short).
  std::function<void(const ByteSink&)> give;
};
// Writes "KIND:PARAMETER" and "tiles:KIND:PARAMETER" of each. What is given is
// hashed and written at once: it is in the cache then, and is asked for once.
ShardFile write_shard(const std::string& path, std::int64_t step,
                      std::span<const ShardTensor> tensors,
                      const FileObserver& observer);

// The parts, as they are; nothing is copied. `observer` is told as the
// request's would be.
ShardFile write_shard(const std::string& path, const SaveRequest& request,
                      const FileObserver& observer);

}  // namespace quire::checkpoint
