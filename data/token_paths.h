// Where tokens lie: the file that a path names, or the numbered shards that
// stand for it when it would be too large.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quire::data {

inline constexpr std::int64_t kMaxShards = 999999;

// tokens/train.bin, 1 -> tokens/train_000001.bin. REQUIRES: 1 <= number <=
// kMaxShards.
std::string shard_path(const std::string& path, std::int64_t number);

// The numbered shards of `path` that exist, in order, whether whole or not.
std::vector<std::string> existing_shards(const std::string& path);

// The files that hold the tokens of `path`, in their order:
//
//   an existing file      itself
//   a pattern (* ? [ ])   what matches, in the order of bytes
//   otherwise             its numbered shards, 000001 to the last
//
// Throws UsageError if there is none, if a shard is missing in between, or if
// both the file and shards of it exist.
std::vector<std::string> find_token_files(const std::string& path);

}  // namespace quire::data
