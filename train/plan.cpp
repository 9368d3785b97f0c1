#include "quire/train/plan.h"

#include <fmt/format.h>

#include "quire/core/cores.h"
#include "quire/core/error.h"
#include "quire/engine/plan.h"
#include "quire/engine/structure.h"
#include "quire/train/detail/memory_plan.h"

namespace quire::train {
namespace {

comm::Traffic traffic_of_step(const engine::Structure& structure,
                              engine::PlanShape shape) {
  comm::Traffic sum;
  for (shape.rank = 0; shape.rank < shape.ranks; ++shape.rank)
    sum += engine::training_plan(structure, shape).traffic();
  return sum;
}

int threads_of(const RunConfig& config, const PlanOptions& options, int ranks) {
  if (options.threads > 0) return options.threads;
  return config.threads > 0 ? config.threads : default_threads(ranks);
}

PlanReport::Entry entry_of(const Blueprint& blueprint, const PlanQuery& query,
                           bool with_steps) {
  const MemoryPlan plan = plan_memory(blueprint, query);
  const engine::Structure structure(blueprint.model, query.ranks);
  return {.ranks = query.ranks,
          .stage = blueprint.config.stage,
          .wave = plan.wave,
          .memory = plan.largest.memory,
          .fits = plan.fits,
          .step = traffic_of_step(structure, plan.largest.plan.shape),
          .steps = with_steps ? plan.largest.plan.to_string(structure) : ""};
}

}  // namespace

PlanReport plan(const RunConfig& config, const PlanOptions& options) {
  const Blueprint blueprint(config);
  PlanReport report;
  report.budget_bytes =
      options.budget_bytes ? options.budget_bytes : config.budget_bytes;
  for (const int ranks : options.ranks) {
    if (ranks < 1)
      throw UsageError(fmt::format(
          "a plan for {} ranks; expected at least one (-n)", ranks));
    report.plans.push_back(
        entry_of(blueprint,
                 {.ranks = ranks,
                  .threads = threads_of(config, options, ranks),
                  .budget_bytes = report.budget_bytes},
                 options.steps));
  }
  return report;
}

}  // namespace quire::train
