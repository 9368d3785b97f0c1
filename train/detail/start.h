// What is settled before a run's first step: whether its folder may be used,
// where it goes on, how wide its waves are and whether it fits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quire/checkpoint/manifest.h"
#include "quire/train/detail/blueprint.h"
#include "quire/train/detail/together.h"
#include "quire/train/run.h"

namespace quire::train {

struct Start {
  std::string checkpoint;  // a folder; "": a new run
  checkpoint::Progress progress = {};
  std::uint64_t kernels = 0;          // the checkpoint's; 0: not to be compared
  std::vector<std::string> warnings;  // about the checkpoint; rank 0's
  int threads = 1;
  int wave = 1;
  std::int64_t predicted_peak_bytes = 0;  // of the rank that needs most
};

// Collective; writes nothing. Throws UsageError as train() says.
Start settle(const Blueprint& blueprint, const TrainOptions& options,
             std::uint64_t data, Together& together);

// The run's folder and resolved_config.json in it. Rank 0's.
void prepare_folder(const RunConfig& config);

}  // namespace quire::train
