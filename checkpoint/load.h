// Reads a checkpoint on all ranks of any world, which end together: each its
// own ranges, every byte of them checked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quire/checkpoint/checkpoint.h"
#include "quire/checkpoint/save_request.h"
#include "quire/checkpoint/verify.h"
#include "quire/comm/communicator.h"
#include "quire/core/stream.h"

namespace quire::checkpoint {

struct LoadRequest {
  // What this rank wants: data is written. Any ranges; several ranks may want
  // the same.
  std::vector<Part> parts;

  // The same on every rank: all parameters, with all kinds that some rank
  // wants.
  std::vector<ExpectedParameter> parameters;
  Checkpoint::States states = Checkpoint::States::kWhole;

  // As SaveRequest's.
  double report_every_s = 1.0;
};

// What the first such rank could not read.
struct LoadDamage {
  Damage damage;
  int rank = 0;
  std::string file;  // of the checkpoint; empty for the checkpoint itself
};

struct Loaded {
  Progress progress;
  // The same on every rank: some file is not what was written, or cannot be
  // read. The parts of all ranks may hold anything then.
  std::optional<LoadDamage> damage;
};

// Collective. `folder` is one checkpoint's. The stream's work is waited for
// first. Takes a few MiB besides the parts, and the hashes of a stored part's
// tiles, 8 bytes for 256 elements. UsageError, the same on all ranks, if the
// checkpoint is not as expected.
Loaded load(const std::string& folder, const LoadRequest& request,
            comm::Communicator& communicator, Stream& stream);

// What a caller throws that has no other checkpoint: UsageError for kFormat,
// SystemError for kHash and kUnread, naming the rank.
[[noreturn]] void throw_damage(const LoadDamage& damage,
                               const comm::Communicator& communicator);

}  // namespace quire::checkpoint
