// Files that lie in a folder, whatever links say.
#pragma once

#include <string>

namespace quire::convert {

// The true path of the file `name` of the folder: it lies in the folder itself
// or, as the hub's cache keeps them (snapshots/COMMIT/NAME ->
// ../../blobs/HASH), among the blobs beside it. UsageError, which names
// `said_by` as the one that names the file, for no plain name, a file that is
// not there, and a link elsewhere.
std::string contained(const std::string& folder, const std::string& name,
                      const std::string& said_by);

}  // namespace quire::convert
