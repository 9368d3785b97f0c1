#include "quire/train/plan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "quire/core/error.h"
#include "tests/train/run_language.h"

namespace quire::train {
namespace {

TEST(Plan, ForetellsWhatARunNeeds) {
  const TinyRuns tiny;
  const PlanReport report =
      plan(tiny.config(), {.ranks = {1, 2, 4}, .threads = 1});
  for (const PlanReport::Entry& entry : report.plans) {
    const auto config =
        tiny.config({"checkpoint.every=0",
                     "output=" + tiny.path("r") + std::to_string(entry.ranks)});
    const auto measured = *run(config, {.ranks = entry.ranks}).result;
    EXPECT_EQ(entry.memory.total_peak, measured.memory.measured_peak_bytes);
    EXPECT_EQ(entry.step.wire_bytes * 4, measured.measured.wire_bytes);
    EXPECT_EQ(entry.step.collectives * 4, measured.measured.collectives);
  }
}

TEST(Plan, SaysWhichNumbersOfRanksFit) {
  const TinyRuns tiny;
  const auto config = tiny.config({"batch.wave=1"});
  const PlanReport free = plan(config, {.ranks = {1, 4}, .threads = 1});
  EXPECT_TRUE(free.plans[0].fits);
  const PlanReport tight =
      plan(config, {.ranks = {1, 4},
                    .budget_bytes = free.plans[1].memory.total_peak,
                    .threads = 1});
  EXPECT_FALSE(tight.plans[0].fits);
  EXPECT_TRUE(tight.plans[1].fits);
  EXPECT_TRUE(tight.any_fits());
}

TEST(Plan, ListsItsOperationsIfAsked) {
  const TinyRuns tiny;
  const PlanReport report =
      plan(tiny.config(), {.ranks = {2}, .threads = 1, .steps = true});
  expect_text(to_text(report), {"h.1", "stage 3", "optimizer"});
  EXPECT_FALSE(report.plans[0].steps.empty());
}

TEST(Plan, RefusesNoRanks) {
  const TinyRuns tiny;
  EXPECT_THROW(plan(tiny.config(), {.ranks = {0}}), UsageError);
}

}  // namespace
}  // namespace quire::train
