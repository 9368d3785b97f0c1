// What the ranks give to a save.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "quire/checkpoint/files.h"
#include "quire/checkpoint/manifest.h"
#include "quire/checkpoint/run_folder.h"
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
  // What stays of the folder's steps behind this save, if it is the newest.
  Keep keep = {};

  FileObserver observer = {};  // of this rank
  FreeSpace free = {};         // asked by rank 0; empty: the system
  // How often a rank that is still writing tells the others so: well below the
  // communicator's time-out.
  double report_every_s = 1.0;
};

}  // namespace quire::checkpoint
