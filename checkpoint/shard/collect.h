// What all ranks have written, as rank 0 finds it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "quire/checkpoint/manifest.h"
#include "quire/checkpoint/save_request.h"

namespace quire::checkpoint {

// Reads the headers and the tiles' hashes of `files` in `folder`, but no value.
// UsageError naming the kind and parameter that the files do not cover exactly
// once. `busy` is called now and then.
Manifest collect(const std::string& folder, std::vector<ShardFile> files,
                 const SaveRequest& request, const std::function<void()>& busy);

}  // namespace quire::checkpoint
