// What a resume takes, of which step, and how the steps after it are those of a
// run that was never interrupted.
#include <filesystem>
#include <fstream>

#include "quire/checkpoint/run_folder.h"
#include "tests/train/run_language.h"

namespace quire::train {
namespace {

using Strings = std::vector<std::string>;

// The last value of a checkpoint of one rank.
void damage(const std::string& step) {
  std::fstream file(step + "/shard-00000-of-00001.safetensors",
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-8, std::ios::end).write("damaged!", 8);
}

std::string step_of(const TinyRuns& tiny, std::int64_t step) {
  return tiny.path("run/" + checkpoint::step_name(step));
}

Strings warnings_of(const RunOutcome& outcome) {
  Strings texts;
  for (const auto& message : outcome.of<MessageEvent>())
    if (message.level == MessageEvent::Level::kWarning)
      texts.push_back(message.text);
  return texts;
}

TEST(FallingBack, TakesTheNextOlderStepAndSaysSo) {
  const TinyRuns tiny;
  const auto whole = run(tiny.config({"checkpoint.every=1"}));
  damage(step_of(tiny, 4));
  damage(step_of(tiny, 3));
  const auto resumed = run(tiny.config(), {.ranks = 3, .resume = "auto"});
  EXPECT_EQ(resumed.result->resumed_from, 2);
  EXPECT_EQ(resumed.result->fingerprint, whole.result->fingerprint);
  const Strings warnings = warnings_of(resumed);
  ASSERT_EQ(warnings.size(), 3u);
  expect_text(warnings[0],
              {"step-00000004 is damaged", "shard-00000-of-00001.safetensors",
               "tensor \"master:", "elements [", "fail their hash"});
  expect_text(warnings[1], {"step-00000003 is damaged", "fail their hash"});
  EXPECT_EQ(warnings[2], step_of(tiny, 2) + " is used instead");
}

TEST(FallingBack, SettlesTheOlderStepAnew) {
  const TinyRuns tiny;
  run(tiny.config({"checkpoint.every=2", "steps=2"}));
  run(tiny.config({"checkpoint.every=2", "optimizer.lr=0.02"}),
      {.resume = "auto"});
  damage(step_of(tiny, 4));
  const auto resumed =
      run(tiny.config({"optimizer.lr=0.02"}), {.resume = "auto"});
  EXPECT_EQ(resumed.result->resumed_from, 2);
  const Strings warnings = warnings_of(resumed);
  ASSERT_EQ(warnings.size(), 4u);  // step 4 has this rate, step 2 another
  expect_text(warnings[0], {"step-00000004 is damaged"});
  expect_text(warnings[1], {"step-00000002 is used instead"});
  expect_text(warnings[2] + warnings[3], {"optimizer.lr", "steps"});
}

TEST(FallingBack, IsForAutoAlone) {
  const TinyRuns tiny;
  run(tiny.config({"checkpoint.every=1"}));
  damage(step_of(tiny, 4));
  for (const std::string& path : {step_of(tiny, 4), tiny.path("run")}) {
    const auto outcome =
        attempt(tiny.config({"steps=5"}), {.ranks = 2, .resume = path});
    EXPECT_EQ(outcome.world.exit_code, 3);
    expect_text(outcome.message(), {"shard-00000-of-00001", "fail their hash"});
  }
}

TEST(FallingBack, ListsAllIfNoneCanBeRead) {
  const TinyRuns tiny;
  run(tiny.config({"checkpoint.every=1", "steps=3"}));
  damage(step_of(tiny, 3));
  damage(step_of(tiny, 2));
  std::filesystem::remove(step_of(tiny, 1) + "/manifest.json");
  const auto outcome = attempt(tiny.config(), {.ranks = 2, .resume = "auto"});
  EXPECT_EQ(outcome.world.exit_code, 3);
  expect_text(outcome.message(),
              {"no checkpoint that can be resumed", "step-00000003 is damaged",
               "step-00000002 is damaged", "step-00000001 is passed over"});
}

TEST(FallingBack, IsNoNewRunWhereAllStepsAreBroken) {
  const TinyRuns tiny;
  run(tiny.config());
  std::filesystem::remove(step_of(tiny, 4) + "/manifest.json");
  const auto outcome = attempt(tiny.config(), {.resume = "auto"});
  EXPECT_EQ(outcome.world.exit_code, 2);
  expect_text(outcome.message(), {"no checkpoint that can be resumed",
                                  "step-00000004 is passed over"});
}

// However the folder is written.
TEST(Resuming, WarnsOfTheStepsThatAreNewerThanTheOneItIsGiven) {
  const TinyRuns tiny;
  run(tiny.config({"checkpoint.every=1"}));
  const std::string run_folder = tiny.path("run");
  const auto resumed =
      run(tiny.config(), {.resume = run_folder + "/../run/" + "step-00000002"});
  const Strings warnings = warnings_of(resumed);
  ASSERT_EQ(warnings.size(), 2u);
  expect_text(warnings[0], {"step-00000003 is newer than what is resumed"});
  expect_text(warnings[1], {"step-00000004 is newer than what is resumed"});
}

// Losses, norms and rates, to the last bit.
using Figures = std::vector<std::vector<double>>;
Figures figures_of(const RunOutcome& outcome) {
  Figures figures;
  for (const auto& step : outcome.of<StepEvent>())
    figures.push_back(
        {static_cast<double>(step.step), step.loss, step.norm, step.lr});
  return figures;
}
Figures last(Figures figures, std::size_t count) {
  figures.erase(figures.begin(),
                figures.end() - static_cast<std::ptrdiff_t>(count));
  return figures;
}

TEST(Resuming, RestoresEveryCopyOfTheState) {
  for (const std::string stage : {"0", "1", "2", "3"})
    for (const std::string type : {"fp32", "bf16"}) {
      const TinyRuns tiny;
      const Strings how = {"zero.stage=" + stage, "precision.compute=" + type,
                           "checkpoint.every=2", "steps=5"};
      const auto whole = run(tiny.config(how), {.ranks = 2});
      std::filesystem::remove_all(step_of(tiny, 4));
      std::filesystem::remove_all(step_of(tiny, 5));
      const auto resumed =
          run(tiny.config(how), {.ranks = 2, .resume = "auto"});
      EXPECT_EQ(resumed.result->resumed_from, 2);
      EXPECT_EQ(figures_of(resumed), last(figures_of(whole), 3));
      EXPECT_EQ(resumed.result->fingerprint, whole.result->fingerprint);
    }
}

TEST(Resuming, GoesOnFromMastersThatNoSaveHasRounded) {
  const TinyRuns tiny;
  const Strings how = {"precision.compute=bf16", "steps=5"};
  const auto whole = run(tiny.config(how));
  run(tiny.config(
      {"precision.compute=bf16", "steps=3", "output=" + tiny.path("second")}));
  const auto resumed = run(tiny.config({"precision.compute=bf16", "steps=5",
                                        "output=" + tiny.path("second")}),
                           {.resume = "auto"});
  EXPECT_EQ(resumed.result->fingerprint, whole.result->fingerprint);
}

TEST(Resuming, OnEverOtherWorldsCountsStepsRatesAndSamplesAsOneRun) {
  const TinyRuns tiny;
  const auto config = [&](const std::string& folder) {
    return tiny.config({"batch.lanes=12", "steps=8", "checkpoint.every=2",
                        "schedule.type=cosine", "schedule.warmup=3",
                        "output=" + tiny.path(folder)});
  };
  const auto whole = run(config("a"), {.ranks = 4});
  std::string before = "a";
  std::int64_t step = 0;
  for (const auto& [folder, ranks] :
       std::vector<std::pair<std::string, int>>{{"b", 2}, {"c", 3}, {"d", 5}}) {
    step += 2;
    const auto resumed =
        run(config(folder),
            {.ranks = ranks,
             .resume = tiny.path(before + "/" + checkpoint::step_name(step))});
    EXPECT_EQ(resumed.result->fingerprint, whole.result->fingerprint);
    EXPECT_EQ(figures_of(resumed),
              last(figures_of(whole), static_cast<std::size_t>(8 - step)));
    before = folder;
  }
}

}  // namespace
}  // namespace quire::train
