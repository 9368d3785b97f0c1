#include "quire/train/detail/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "quire/core/bytes.h"
#include "quire/core/divide.h"

namespace quire::train {
namespace {

constexpr int kMostSuggestedRanks = 64;

int widest(const RunConfig& config, int ranks) {
  return static_cast<int>(divide_up(config.batch.lanes, ranks));
}

int fixed_wave(const RunConfig& config, int ranks) {
  const int most = widest(config, ranks);
  return config.batch.wave > 0 ? std::min(config.batch.wave, most) : most;
}

// What a suggestion changes; nothing else of the run does.
struct Change {
  int ranks;
  engine::Stage stage;
  engine::Recompute recompute;
};

class Suggestions {
 public:
  Suggestions(const Blueprint& blueprint, const PlanQuery& query)
      : blueprint_(&blueprint), query_(query) {}

  std::string text() {
    const engine::Options given = engine_options(blueprint_->config, 1);
    const engine::Recompute kept = given.precision.recompute;
    const bool can_recompute = kept == engine::Recompute::kNone;
    suggest({query_.ranks, given.stage, kept});
    if (can_recompute)
      suggest({query_.ranks, given.stage, engine::Recompute::kLayer});
    if (given.stage != engine::Stage::kParameters && query_.ranks > 1)
      suggest({query_.ranks, engine::Stage::kParameters, kept});
    suggest_ranks(kept);
    if (can_recompute) suggest_ranks(engine::Recompute::kLayer);
    if (!lines_.empty()) return "what would fit:\n" + lines_;
    return fmt::format(
        "no number of ranks up to {} would fit: make the model, "
        "batch.lane_samples or data.sequence smaller",
        kMostSuggestedRanks);
  }

 private:
  engine::DryRunSetup setup_of(const Change& change) const {
    auto setup = blueprint_->dry_run_setup(1, query_.threads);
    setup.options.stage = change.stage;
    setup.options.precision.recompute = change.recompute;
    return setup;
  }

  std::optional<engine::Fit> fit_of(const Change& change) const {
    return engine::widest_wave(setup_of(change), change.ranks,
                               *query_.budget_bytes);
  }

  void suggest(const Change& change) {
    const auto fit = fit_of(change);
    if (!fit) return;
    lines_ += fmt::format("  -n {} --set zero.stage={}", change.ranks,
                          static_cast<int>(change.stage));
    if (change.recompute == engine::Recompute::kLayer)
      lines_ += " --set precision.recompute=layer";
    lines_ += fmt::format(" --set batch.wave={}: {}\n", fit->wave,
                          format_bytes(fit->largest.memory.total_peak));
  }

  // The fewest ranks above the given at stage 3: doubling, then halving the
  // gap.
  void suggest_ranks(engine::Recompute recompute) {
    const auto with = [&](int ranks) {
      return Change{ranks, engine::Stage::kParameters, recompute};
    };
    int too_few = query_.ranks;
    int enough = too_few;
    do {
      too_few = enough;
      if (too_few >= kMostSuggestedRanks) return;
      enough = std::min(2 * too_few, kMostSuggestedRanks);
    } while (!fit_of(with(enough)));
    while (enough - too_few > 1) {
      const int middle = (too_few + enough) / 2;
      (fit_of(with(middle)) ? enough : too_few) = middle;
    }
    suggest(with(enough));
  }

  const Blueprint* blueprint_;
  PlanQuery query_;
  std::string lines_;
};

MemoryPlan plan_of_wave(const Blueprint& blueprint, const PlanQuery& query,
                        int wave) {
  auto largest = engine::largest_dry_run(
      blueprint.dry_run_setup(wave, query.threads), query.ranks);
  const bool fits =
      !query.budget_bytes || largest.memory.total_peak <= *query.budget_bytes;
  return {wave, std::move(largest), fits};
}

// Neither the widest nor the narrowest need be it: a narrow wave keeps few
// activations, and many nodes of the gradients' tree.
MemoryPlan thriftiest(const Blueprint& blueprint, const PlanQuery& query) {
  std::optional<MemoryPlan> best;
  for (const int wave :
       engine::wave_widths(blueprint.config.batch.lanes, query.ranks)) {
    MemoryPlan plan = plan_of_wave(blueprint, query, wave);
    if (!best ||
        plan.largest.memory.total_peak < best->largest.memory.total_peak)
      best = std::move(plan);
  }
  return *std::move(best);
}

}  // namespace

MemoryPlan plan_memory(const Blueprint& blueprint, const PlanQuery& query) {
  const RunConfig& config = blueprint.config;
  const bool chosen = config.batch.wave == BatchConfig::kAuto;
  if (!query.budget_bytes || !chosen)
    return plan_of_wave(blueprint, query, fixed_wave(config, query.ranks));
  auto fit = engine::widest_wave(blueprint.dry_run_setup(1, query.threads),
                                 query.ranks, *query.budget_bytes);
  if (fit) return {fit->wave, std::move(fit->largest), true};
  return thriftiest(blueprint, query);
}

std::string explain_refusal(const Blueprint& blueprint, const PlanQuery& query,
                            const MemoryPlan& plan) {
  return fmt::format(
      "the plan needs {} bytes ({}) on one of {} ranks at zero.stage {}; "
      "memory.budget is {} bytes ({})\n{}{}",
      plan.largest.memory.total_peak,
      format_bytes(plan.largest.memory.total_peak), query.ranks,
      blueprint.config.stage, *query.budget_bytes,
      format_bytes(*query.budget_bytes),
      plan.largest.memory.table(query.budget_bytes),
      Suggestions(blueprint, query).text());
}

}  // namespace quire::train
