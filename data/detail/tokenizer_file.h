// Files of a tokenizer, read with bounds.
#pragma once

#include <cstdint>
#include <string>

namespace quire::data {

inline constexpr std::int64_t kMostTokenizerBytes = std::int64_t{256} << 20;

// The whole file. Throws UsageError unless it is a regular file of 1 to
// kMostTokenizerBytes bytes that can be read, SystemError if it shrinks or a
// disk fails.
std::string read_tokenizer_file(const std::string& path);

}  // namespace quire::data
