// A step on the meta device: the same layers, engine and plan over tensors that
// have a size and no memory. What its allocator counts is what the real one
// will count.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "quire/core/allocator.h"
#include "quire/engine/engine.h"
#include "quire/engine/plan.h"

namespace quire::engine {

struct DryRunSetup {
  const nn::Model* model;
  const nn::Loss* loss;
  const optim::Optimizer* optimizer;
  Options options;
  int threads = 1;            // of a rank: kernels' scratch
  Batch lane;                 // a lane's batch: its types and shapes count
  bool evaluates = false;     // the run also evaluates
  bool fingerprints = false;  // and calls Engine::fingerprint_kernels
  // What the rank holds besides from before its first step on, allocated as it
  // will be; empty: nothing. Of ranks with equal shares of the lanes the first
  // must hold most.
  std::function<std::shared_ptr<void>(const Engine&, Allocator&)> holds = {};
};

struct DryRun {
  MemoryReport memory;
  Plan plan;  // of the rank, with what it holds after and during every op
};
DryRun dry_run(const DryRunSetup& setup, int ranks, int rank);

// The rank that needs most. Ranks that work on the same numbers of lanes need
// the same, and are run once.
DryRun largest_dry_run(const DryRunSetup& setup, int ranks);

// Widths of a wave from all of a rank's lanes down to 1: a dry run of each is
// cheap enough to be tried. Halves down to 16, from there on every one.
std::vector<int> wave_widths(int lanes, int ranks);

// The widest of wave_widths() that fits `budget_bytes` on every rank; none if
// none fits.
struct Fit {
  int wave;
  DryRun largest;
};
std::optional<Fit> widest_wave(const DryRunSetup& setup, int ranks,
                               std::int64_t budget_bytes);

}  // namespace quire::engine
