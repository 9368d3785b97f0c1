// What is settled before a run's first step: whether its folder may be used,
// where it goes on, how wide its waves are and whether it fits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quire/checkpoint/manifest.h"
#include "quire/checkpoint/verify.h"
#include "quire/train/detail/blueprint.h"
#include "quire/train/detail/together.h"
#include "quire/train/run.h"

namespace quire::train {

struct Start {
  std::string checkpoint;  // a folder; "": a new run
  checkpoint::Progress progress = {};
  std::uint64_t kernels = 0;  // the checkpoint's; 0: not to be compared
  // A line for every newer step that was found broken or damaged.
  std::vector<std::string> passed_over = {};
  std::vector<std::string> warnings = {};  // about the checkpoint; rank 0's
  int threads = 1;
  int wave = 1;
  std::int64_t predicted_peak_bytes = 0;  // of the rank that needs most
};

// Collective; writes nothing. Throws UsageError as train() says.
Start settle(const Blueprint& blueprint, const TrainOptions& options,
             std::uint64_t data, Together& together);

// What settle() found, for a checkpoint that proved to be damaged when it was
// read.
struct Damaged {
  Start start;
  checkpoint::Damage damage;
};
// Collective: the same with the next older whole step of the run's folder,
// settled anew; passed_over says why. Its checkpoint is empty if there is none.
Start fall_back(const Blueprint& blueprint, std::uint64_t data,
                const Damaged& damaged, Together& together);

// The message where nothing is left to be resumed.
std::string none_left(const std::string& folder,
                      const std::vector<std::string>& passed_over);

// The run's folder and resolved_config.json in it. Rank 0's.
void prepare_folder(const RunConfig& config);

}  // namespace quire::train
