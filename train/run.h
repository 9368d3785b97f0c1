// A training run, from its configuration to its result, as every rank calls it.
//
//   never   a new run; its folder must be empty or not exist
//   auto    the newest checkpoint of the folder that can be read, or a new run
//           if there is none at all
//   DIR     a checkpoint, or the newest whole one of a run's folder; if it is
//           damaged, no other is taken
//
// With checkpoint.async, a save copies the state and the steps go on while the
// copy is written; its failure is thrown behind the step during which it came.
// The end of the run, a signal and an error wait for the save under way.
//
// A step that is skipped advances the step and the data position, not the
// schedule and the optimizer's counter.
#pragma once

#include <string>

#include "quire/checkpoint/files.h"
#include "quire/comm/communicator.h"
#include "quire/core/error.h"
#include "quire/train/config.h"
#include "quire/train/result.h"
#include "quire/train/sink.h"

namespace quire::train {

struct TrainOptions {
  std::string resume = "never";
  int local_ranks = 0;  // that share this host's cores; 0: all of the world
  // Told of what this rank's saves do to the disk, in whichever thread they
  // run; what it throws is their failure.
  checkpoint::FileObserver observer = {};
};

// Ten steps in a row were skipped, or all of this start. Every rank throws it
// after the same step.
// The exit code of the run is kDivergedExit.
class Diverged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
inline constexpr int kDivergedExit = 4;
inline constexpr int kStoppedExit = 75;  // for a result with `stopped`

// Collective. The result is the same on every rank. `sink` is written to by
// rank 0 alone.
//
// SIGTERM or SIGINT, to any rank, ends the run after the step in progress: the
// state is saved and the result says `stopped`. A second one ends the process
// at once.
//
// Throws UsageError for what a configuration or a file got wrong, for a folder
// that is not empty, and before the first step if the plan exceeds
// memory.budget, with the table of categories and what would fit; Diverged;
// SystemError if what was measured is not what was predicted.
TrainResult train(const RunConfig& config, const TrainOptions& options,
                  comm::Communicator& communicator, Sink& sink);

}  // namespace quire::train
