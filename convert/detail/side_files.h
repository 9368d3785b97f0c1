// Tokenizer and generation files, which go along with a model unread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quire::convert {

// Paths of those that lie directly in the folder, by name; none if it is no
// folder. Links out of it are left out, but for those of the hub's cache.
std::vector<std::string> side_files(const std::string& folder);

// Of all that can still be read.
std::int64_t bytes_in(const std::vector<std::string>& files);

// Copies them into `folder`, synced. UsageError for a file that is larger than
// any such file is.
void copy_side_files(const std::vector<std::string>& files,
                     const std::string& folder);

}  // namespace quire::convert
