// Tokenizer and generation files, which go along with a model unread.
#pragma once

#include <string>
#include <vector>

namespace quire::convert {

// Paths of those that lie directly in the folder, by name; none if it is no
// folder. Links out of it are left out, but for those of the hub's cache.
std::vector<std::string> side_files(const std::string& folder);

// Copies them into `folder`, synced. UsageError for a file that is larger than
// any such file is.
void copy_side_files(const std::vector<std::string>& files,
                     const std::string& folder);

}  // namespace quire::convert
