// Files that lie in a folder, whatever links say.
#pragma once

#include <string>
#include <string_view>

namespace quire::convert {

// True if the path leads, links followed, to something in the folder itself or,
// as the hub's cache keeps them (snapshots/COMMIT/NAME -> ../../blobs/HASH),
// among the blobs beside it.
bool stays_in(const std::string& path, const std::string& folder);

// True if something is there, if only a link that leads nowhere.
bool stands(const std::string& path);
// The same of `name` in the folder.
bool holds(const std::string& folder, std::string_view name);

// The true path of the file `name` of the folder, in which it stays.
// UsageError, which names `said_by` as the one that names the file, for no
// plain name, a file that is not there, and a link elsewhere.
std::string contained(const std::string& folder, const std::string& name,
                      const std::string& said_by);

}  // namespace quire::convert
