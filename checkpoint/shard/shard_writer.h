// One rank's file of a checkpoint.
#pragma once

#include <string>

#include "quire/checkpoint/manifest.h"
#include "quire/checkpoint/save_request.h"

namespace quire::checkpoint {

// "shard-00001-of-00004.safetensors", ranks from 0.
std::string shard_name(int rank, int ranks);

// The key of a shard's metadata that holds the first element of a tensor.
std::string first_key(const std::string& tensor);

// UsageError naming the part that is not as SaveRequest says.
void check_parts(const SaveRequest& request);

// Writes the parts as "KIND:PARAMETER" and "tiles:KIND:PARAMETER"; nothing is
// copied. `observer` is told as the request's would be.
ShardFile write_shard(const std::string& folder, const std::string& name,
                      const SaveRequest& request, const FileObserver& observer);

}  // namespace quire::checkpoint
