// Writes a checkpoint from one process that holds none of it: each element is
// asked for when its turn comes, a few MiB at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "quire/checkpoint/files.h"
#include "quire/checkpoint/manifest.h"

namespace quire::checkpoint {

struct ExportedState {
  std::string kind;  // as in a save
  DType dtype;
};
struct ExportedParameter {
  std::string name;
  Shape shape;
  bool trainable;
  std::vector<ExportedState> states;
};

struct ExportRequest {
  std::vector<ExportedParameter> parameters;
  // out = elements [first, first + ...) of a kind of a parameter, in the
  // state's type. Each is asked for once.
  std::function<void(const ExportedParameter& parameter,
                     const ExportedState& state, std::int64_t first,
                     std::span<std::byte> out)>
      read;

  int shards = 1;  // as many files as that many ranks would write
  Progress progress = {};
  std::string config = "{}";  // resolved, a JSON object
  std::uint64_t kernels = 0;
  std::map<std::string, std::string> notes = {};
  FileObserver observer = {};
};

// Writes all files into `folder`, which is there and holds none of their names,
// and syncs them; the folder itself is the caller's to sync and to publish.
// Returns the fingerprint. UsageError unless the request is one of a save and
// shards >= 1.
std::uint64_t export_checkpoint(const std::string& folder,
                                const ExportRequest& request);

}  // namespace quire::checkpoint
