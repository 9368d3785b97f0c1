// What a run would need, before it runs: memory by category and bytes on the
// wire, for any number of ranks, without any of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "quire/train/config.h"
#include "quire/train/result.h"

namespace quire::train {

struct PlanOptions {
  std::vector<int> ranks = {1};
  std::optional<std::int64_t> budget_bytes = {};  // none: the configuration's
  // Per rank; 0: the configuration's, or the default of that many ranks on
  // this host.
  int threads = 0;
  bool steps = false;  // also PlanReport::Entry::steps
};

// Reads no data. Throws UsageError for a number of ranks below 1.
PlanReport plan(const RunConfig& config, const PlanOptions& options);

}  // namespace quire::train
