// The wave of a run, and whether its plan fits the budget of a rank; decided
// before anything is allocated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "quire/core/allocator.h"
#include "quire/engine/dry_run.h"
#include "quire/train/detail/blueprint.h"

namespace quire::train {

struct PlanQuery {
  int ranks;
  int threads;                               // of a rank
  std::optional<std::int64_t> budget_bytes;  // of a rank
};

struct MemoryPlan {
  int wave;
  engine::DryRun largest;  // of the rank that needs most
  bool fits;
};

// With batch.wave as it is, or for "auto" the widest that fits: all lanes of a
// rank without a budget, and the one that needs least if none fits.
MemoryPlan plan_memory(const Blueprint& blueprint, const PlanQuery& query);

// The message of a plan that does not fit: the table of categories, and the
// nearest configurations that would. REQUIRES: query.budget_bytes.
std::string explain_refusal(const Blueprint& blueprint, const PlanQuery& query,
                            const MemoryPlan& plan);

}  // namespace quire::train
