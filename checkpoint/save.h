// Writes a checkpoint of all ranks: each its own file, nothing gathered.
//
//   rank 0 makes .step-NNNNNNNN.tmp-XXXXXXXX
//   all    write shard-RRRRR-of-NNNNN.safetensors into it and sync it
//   rank 0 reads the tiles' hashes from the files, writes manifest.json, syncs,
//          renames to step-NNNNNNNN
//
// A kill at any point leaves the steps that were there, whole, and at most a
// folder with a dot, which the next save removes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "quire/checkpoint/files.h"
#include "quire/checkpoint/manifest.h"
#include "quire/comm/communicator.h"
#include "quire/core/stream.h"
#include "quire/core/tensor.h"

namespace quire::checkpoint {

// Elements [first, first + data.numel()) of one kind of one parameter.
struct Part {
  std::string kind;  // not empty, without ':'
  std::string parameter;
  std::int64_t first;  // a multiple of kTile
  Tensor data;         // whole tiles, or up to the end of the parameter
};

struct SavedParameter {
  std::string name;
  Shape shape;
  bool trainable;
};

struct SaveRequest {
  // What this rank answers for: over all ranks every element of every kind that
  // a parameter has once; a kind of a parameter in one range per rank. Ranks
  // may give none. Borrowed, not written.
  std::vector<Part> parts;

  // The same on every rank.
  std::vector<SavedParameter> parameters;
  Progress progress;
  std::string config = "{}";  // resolved, a JSON object
  std::uint64_t kernels = 0;
  std::map<std::string, std::string> notes = {};

  FileObserver observer = {};  // of this rank
  // How often a rank that is still writing tells the others so: well below the
  // communicator's time-out.
  double report_every_s = 1.0;
};

// Collective. Saves into `folder`, which is made if need be; an existing step
// of the same number is replaced in one step. The stream's work is waited for
// first. Returns the checkpoint's fingerprint. If any rank fails, all throw its
// error, named by rank, and nothing is published. A rank that makes the call
// alone ends by the communicator's time-out.
std::uint64_t save(const std::string& folder, const SaveRequest& request,
                   comm::Communicator& communicator, Stream& stream);

}  // namespace quire::checkpoint
