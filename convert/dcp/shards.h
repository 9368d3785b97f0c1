// The files of PyTorch's distributed checkpoint in its safetensors layout. Each
// holds parts of tensors, and says in its metadata where each part starts:
//
//   "DCP_SHARDING_INFO": "{NAME: {"saved_offsets": [row, 0, ...]}, ...}"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quire/checkpoint/json.h"
#include "quire/checkpoint/safetensors.h"
#include "quire/convert/huggingface/foreign_weights.h"

namespace quire::convert {

inline constexpr const char* kShardingKey = "DCP_SHARDING_INFO";
inline constexpr const char* kVersionKey = "DCP_VERSION";

// "shard-00001-model-00001-of-00001.safetensors" for shard 0.
std::string shard_file_name(int shard);

// True if a safetensors file of the folder is a shard; files that cannot be
// read are none.
bool holds_dcp_shards(const std::string& folder);

// Whole tensors, put together from parts that are cut by rows. UsageError
// naming file and tensor for a part without offsets, offsets without a part,
// parts that leave a hole, overlap, differ in type or in other extents, or are
// cut along another dimension.
std::vector<ForeignTensor> open_shards(const std::string& folder);

}  // namespace quire::convert
