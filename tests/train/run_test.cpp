#include "quire/train/run.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "quire/checkpoint/manifest.h"
#include "quire/checkpoint/run_folder.h"
#include "quire/checkpoint/verify.h"
#include "quire/core/thread_pool.h"
#include "quire/train/detail/stop_signal.h"
#include "tests/train/run_language.h"

namespace quire::train {
namespace {

std::vector<double> losses_of(const RunOutcome& outcome) {
  std::vector<double> losses;
  for (const StepEvent& step : outcome.of<StepEvent>())
    losses.push_back(step.loss);
  return losses;
}

std::vector<std::int64_t> steps_in(const std::string& folder) {
  std::vector<std::int64_t> steps;
  for (const auto& step : checkpoint::list_steps(folder))
    steps.push_back(step.step);
  return steps;
}

void expect_as_predicted(const TrainResult& result) {
  EXPECT_EQ(result.memory.measured_peak_bytes,
            result.memory.predicted_peak_bytes);
  EXPECT_GT(result.memory.measured_peak_bytes, 0);
  EXPECT_EQ(result.measured, result.predicted);
  EXPECT_GT(result.measured.collectives, 0);
}

TEST(Run, NeedsWhatWasPredictedOnAnyNumberOfRanks) {
  const TinyRuns tiny;
  for (const int ranks : {1, 2, 3, 5}) {
    const auto config =
        tiny.config({"output=" + tiny.path("r") + std::to_string(ranks)});
    expect_as_predicted(*run(config, {.ranks = ranks}).result);
  }
}

// Ranks with as many lanes keep more or fewer rows of gradients.
TEST(Run, NeedsWhatWasPredictedWhereverItsLanesLieInTheTree) {
  const TinyRuns tiny;
  for (const int ranks : {2, 3, 4}) {
    const std::string name = std::to_string(ranks);
    const auto config =
        tiny.config({"output=" + tiny.path(name), "batch.lanes=10",
                     "zero.stage=" + std::to_string(ranks - 1)});
    expect_as_predicted(*run(config, {.ranks = ranks}).result);
  }
}

TEST(Run, NeedsWhatWasPredictedWhenItEvaluates) {
  TinyRuns tiny;
  tiny.write_tokens("validation.bin", data::varied(45, 16));
  const auto config = tiny.config(
      {"data.validation=" + tiny.path("validation.bin"), "evaluate.every=2"});
  const RunOutcome outcome = run(config, {.ranks = 3});
  expect_as_predicted(*outcome.result);
  EXPECT_EQ(outcome.of<EvaluationEvent>().size(), 2u);
}

TEST(Run, HasTheSameBitsAndLossesOnAnyNumberOfRanksAndAtAnyStage) {
  const TinyRuns tiny;
  const RunOutcome one = run(tiny.config({"checkpoint.every=0"}));
  for (const int ranks : {2, 4}) {
    const RunOutcome other =
        run(tiny.config({"output=" + tiny.path("r") + std::to_string(ranks),
                         "checkpoint.every=0",
                         "zero.stage=" + std::to_string(4 - ranks),
                         "batch.wave=1"}),
            {.ranks = ranks});
    EXPECT_EQ(other.result->fingerprint, one.result->fingerprint);
    EXPECT_EQ(losses_of(other), losses_of(one));
  }
}

TEST(Run, HasTheFingerprintOfItsCheckpoint) {
  const TinyRuns tiny;
  const RunOutcome saved = run(tiny.config(), {.ranks = 2});
  EXPECT_EQ(saved.result->fingerprint,
            checkpoint::fingerprint(tiny.path("run")));
  const RunOutcome unsaved =
      run(tiny.config({"output=" + tiny.path("other"), "checkpoint.every=0"}));
  EXPECT_EQ(unsaved.result->fingerprint, saved.result->fingerprint);
  EXPECT_TRUE(steps_in(tiny.path("other")).empty());
}

TEST(Run, EndsWithTheLossOfItsLastStep) {
  const TinyRuns tiny;
  const RunOutcome outcome = run(tiny.config());
  ASSERT_EQ(losses_of(outcome).size(), 4u);
  EXPECT_EQ(outcome.result->loss, losses_of(outcome).back());
  EXPECT_EQ(outcome.result->steps, 4);
  EXPECT_GT(outcome.result->tokens_per_s, 0.0);
}

// The rate of update k, whatever the number of ranks and of lanes of each.
TEST(Run, AdvancesTheScheduleOncePerStep) {
  const TinyRuns tiny;
  for (const auto& [ranks, lanes] :
       {std::pair(1, 1), {1, 4}, {4, 4}, {4, 16}}) {
    const std::string each =
        std::to_string(ranks) + "x" + std::to_string(lanes);
    const RunOutcome outcome =
        run(tiny.config({"steps=10", "schedule.type=linear", "optimizer.lr=0.5",
                         "schedule.final_ratio=0", "checkpoint.every=0",
                         "batch.lanes=" + std::to_string(lanes),
                         "output=" + tiny.path(each)}),
            {.ranks = ranks});
    const auto steps = outcome.of<StepEvent>();
    ASSERT_EQ(steps.size(), 10u) << each;
    for (int k = 0; k < 10; ++k)
      EXPECT_DOUBLE_EQ(steps[static_cast<std::size_t>(k)].lr,
                       0.5 * (1.0 - k / 10.0));
  }
}

// 4 lanes of 8 tokens are 32, whoever works on them.
TEST(Run, CountsTheTokensOfAllRanksOnce) {
  const TinyRuns tiny;
  for (const int ranks : {1, 2, 4}) {
    const RunOutcome outcome =
        run(tiny.config({"checkpoint.every=0",
                         "output=" + tiny.path("r") + std::to_string(ranks)}),
            {.ranks = ranks});
    for (const StepEvent& step : outcome.of<StepEvent>())
      EXPECT_NEAR(step.tokens_per_s * step.seconds, 32.0, 1e-9);
  }
}

TEST(Run, SavesEveryNStepsAndKeepsTheNewest) {
  const TinyRuns tiny;
  run(tiny.config({"steps=5", "checkpoint.every=2", "checkpoint.keep=2"}));
  EXPECT_EQ(steps_in(tiny.path("run")), (std::vector<std::int64_t>{4, 5}));
}

TEST(Run, RefusesAFolderThatIsNotEmpty) {
  const TinyRuns tiny;
  run(tiny.config());
  const RunOutcome again = attempt(tiny.config(), {.ranks = 2});
  EXPECT_EQ(again.world.exit_code, 2);
  expect_text(again.message(), {tiny.path("run")});
  EXPECT_TRUE(again.events.empty());
}

TEST(Run, NamesTheTokenThatIsOutsideTheVocabulary) {
  TinyRuns tiny;
  data::Ids ids = data::varied(100, 16);
  ids[70] = 16;
  tiny.write_tokens("train.bin", ids);
  const RunOutcome outcome = attempt(tiny.config(), {.ranks = 2});
  EXPECT_EQ(outcome.world.exit_code, 2);
  expect_text(outcome.message(), {"train.bin", "70", "16"});
  expect_text(outcome.world.failure->to_string(), {": step 0: data: "});
  EXPECT_FALSE(std::filesystem::exists(tiny.path("run")));
}

TEST(Run, NamesTheRankThatFailsAndItsStep) {
  const TinyRuns tiny;
  const RunOutcome outcome =
      attempt(tiny.config(), {.ranks = 3, .on_step = [](const StepEvent& step) {
                                if (step.step == 2)
                                  throw SystemError("no ink left");
                              }});
  EXPECT_EQ(outcome.world.exit_code, 3);
  ASSERT_TRUE(outcome.world.failure);
  EXPECT_EQ(outcome.world.failure->rank, 0);
  EXPECT_EQ(outcome.world.failure->step, 1);
  EXPECT_EQ(outcome.message(), "no ink left");
}

TEST(Resume, OnOtherRanksEndsWithTheSameBits) {
  const TinyRuns tiny;
  const auto whole =
      run(tiny.config({"steps=6", "checkpoint.every=3"}), {.ranks = 3});
  const auto resumed =
      run(tiny.config({"steps=6", "output=" + tiny.path("second")}),
          {.ranks = 2, .resume = tiny.path("run") + "/step-00000003"});
  EXPECT_EQ(resumed.result->resumed_from, 3);
  EXPECT_EQ(resumed.result->fingerprint, whole.result->fingerprint);
  EXPECT_EQ(resumed.result->loss, whole.result->loss);
  expect_as_predicted(*resumed.result);
}

// 4 steps are an epoch: the next sample is the first of the next one's order.
TEST(Resume, AtTheEndOfAnEpochGoesOnWithTheNext) {
  const TinyRuns tiny;
  const auto whole = run(tiny.config({"steps=9", "checkpoint.every=4"}));
  for (const char* step : {"4", "8"}) {
    const auto resumed =
        run(tiny.config({"steps=9", "output=" + tiny.path("from") + step}),
            {.ranks = 2, .resume = tiny.path("run") + "/step-0000000" + step});
    EXPECT_EQ(resumed.result->fingerprint, whole.result->fingerprint) << step;
    EXPECT_EQ(resumed.result->steps, 9);
  }
}

TEST(Resume, OfAFinishedRunDoesNothingAndSaysSo) {
  const TinyRuns tiny;
  const auto whole = run(tiny.config());
  const auto again = run(tiny.config(), {.ranks = 2, .resume = "auto"});
  EXPECT_EQ(again.result->steps, 4);
  EXPECT_EQ(again.result->fingerprint, whole.result->fingerprint);
  EXPECT_TRUE(again.of<StepEvent>().empty());
  ASSERT_EQ(again.of<MessageEvent>().size(), 1u);
  expect_text(again.of<MessageEvent>()[0].text, {"nothing to do", "step 4"});
}

TEST(Resume, AutoStartsAnewWhereThereIsNoCheckpoint) {
  const TinyRuns tiny;
  const auto first = run(tiny.config(), {.resume = "auto"});
  EXPECT_FALSE(first.result->resumed_from);
  EXPECT_EQ(first.result->steps, 4);
}

TEST(Resume, AutoTakesTheNewestWholeStep) {
  const TinyRuns tiny;
  const auto whole = run(tiny.config({"checkpoint.every=1"}));
  std::filesystem::remove(tiny.path("run") + "/step-00000004/manifest.json");
  const auto resumed = run(tiny.config(), {.ranks = 2, .resume = "auto"});
  EXPECT_EQ(resumed.result->resumed_from, 3);
  EXPECT_EQ(resumed.result->fingerprint, whole.result->fingerprint);
  expect_text(resumed.of<MessageEvent>().at(0).text, {"step-00000004"});
}

// Whose bits differ from the checkpoint's on the same machine, too.
TEST(Resume, WithAnotherOptimizerIsNotTakenForAnotherMachine) {
  const TinyRuns tiny;
  run(tiny.config({"checkpoint.every=2"}));
  const auto resumed =
      run(tiny.config({"optimizer.eps=1e-4", "output=" + tiny.path("second")}),
          {.resume = tiny.path("run") + "/step-00000002"});
  ASSERT_EQ(resumed.of<MessageEvent>().size(), 1u);
  expect_text(resumed.of<MessageEvent>()[0].text, {"optimizer.eps"});
}

TEST(Resume, WithoutTheOptimizersStatesIsRefusedInAFewLines) {
  const TinyRuns tiny;
  run(tiny.config({"optimizer.momentum=0", "optimizer.type=sgd"}));
  const auto resumed = attempt(tiny.config(), {.resume = "auto"});
  expect_text(resumed.message(), {"another run", "optimizer.type"});
  EXPECT_LT(std::ranges::count(resumed.message(), '\n'), 15);
}

TEST(Resume, OfDamageLeavesNothingInANewFolder) {
  const TinyRuns tiny;
  run(tiny.config());
  const std::string shard =
      tiny.path("run/step-00000004/shard-00000-of-00001.safetensors");
  std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-8, std::ios::end).write("damaged!", 8);
  file.close();
  const auto outcome =
      attempt(tiny.config({"steps=5", "output=" + tiny.path("second")}),
              {.resume = tiny.path("run")});
  EXPECT_EQ(outcome.world.exit_code, 3) << outcome.message();
  EXPECT_FALSE(std::filesystem::exists(tiny.path("second")));
}

TEST(Resume, NamesTheKeysThatMakeItAnotherRun) {
  TinyRuns tiny;
  run(tiny.config());
  tiny.write_tokens("other.bin", data::varied(150, 15));
  const auto other =
      attempt(tiny.config({"seed=6", "batch.lanes=2", "optimizer.lr=0.5",
                           "data.train=" + tiny.path("other.bin")}),
              {.ranks = 2, .resume = "auto"});
  EXPECT_EQ(other.world.exit_code, 2);
  expect_text(other.message(),
              {"\n  seed: ", "\n  batch.lanes: ", "\n  data.train: "});
  EXPECT_EQ(other.message().find("optimizer.lr"), std::string::npos);
}

TEST(Resume, WarnsOfKeysThatMayChange) {
  const TinyRuns tiny;
  run(tiny.config());
  const auto longer =
      run(tiny.config({"steps=5", "optimizer.lr=0.005"}), {.resume = "auto"});
  EXPECT_EQ(longer.result->steps, 5);
  std::string warnings;
  for (const auto& message : longer.of<MessageEvent>())
    warnings += message.text + "\n";
  expect_text(warnings, {"optimizer.lr", "steps"});
}

TEST(Resume, IsSilentOnTheMachineThatSaved) {
  const TinyRuns tiny;
  run(tiny.config({"steps=2"}));
  const auto manifest =
      checkpoint::read_manifest(tiny.path("run") + "/step-00000002");
  EXPECT_NE(manifest.kernels, 0u);
  const auto resumed =
      run(tiny.config({"steps=2"}), {.ranks = 3, .resume = "auto"});
  for (const auto& message : resumed.of<MessageEvent>())
    EXPECT_EQ(message.text.find("instruction set"), std::string::npos);
}

TEST(Budget, RefusesBeforeTheFirstStepAndSaysWhatWouldFit) {
  const TinyRuns tiny;
  const auto fitting =
      run(tiny.config({"checkpoint.every=0", "batch.wave=1"}), {.ranks = 4});
  const std::string budget =
      std::to_string(fitting.result->memory.measured_peak_bytes);
  const std::vector<std::string> sets = {"memory.budget=" + budget,
                                         "output=" + tiny.path("b")};
  auto replica = sets;
  replica.push_back("zero.stage=0");
  const RunOutcome refused = attempt(tiny.config(replica));
  EXPECT_EQ(refused.world.exit_code, 2);
  expect_text(refused.message(),
              {"parameters", "optimizer", budget, "what would fit:\n",
               "zero.stage=3", "batch.wave="});
  EXPECT_FALSE(std::filesystem::exists(tiny.path("b")));
  const RunOutcome trained = run(tiny.config(sets), {.ranks = 4});
  EXPECT_EQ(trained.result->wave, 1);
}

// Weights of 1e28 make every later loss and gradient overflow.
TEST(Diverging, EndsAfterTenVisibleSkipsInARow) {
  const TinyRuns tiny;
  for (const std::string type : {"fp32", "bf16"}) {
    const RunOutcome outcome = attempt(
        tiny.config({"steps=40", "optimizer.lr=1e30", "checkpoint.every=1",
                     "log.every=100", "precision.compute=" + type,
                     "output=" + tiny.path(type)}),
        {.ranks = 2});
    EXPECT_EQ(outcome.world.exit_code, kDivergedExit);
    EXPECT_FALSE(outcome.result);
    std::size_t skipped = 0;
    for (const StepEvent& step : outcome.of<StepEvent>())
      skipped += !step.skipped.empty() && step.logged;
    EXPECT_EQ(skipped, 10u);
    expect_text(outcome.message(), {"diverged", "not finite"});
  }
}

TEST(Diverging, EndsARunOfWhichNoStepIsLeft) {
  const TinyRuns tiny;
  run(tiny.config({"steps=4", "optimizer.lr=1e30", "checkpoint.every=1"}));
  const RunOutcome outcome = attempt(
      tiny.config({"steps=4", "optimizer.lr=1e30", "output=" + tiny.path("b")}),
      {.ranks = 2, .resume = tiny.path("run") + "/step-00000001"});
  EXPECT_EQ(outcome.world.exit_code, kDivergedExit);
  expect_text(outcome.message(), {"steps 2 to 4 were skipped"});
}

// What a skipped step left: 1 update after 1 good and 9 skipped steps.
TEST(Diverging, SkippedStepsAdvanceTheStepAndNotTheSchedule) {
  const TinyRuns tiny;
  const RunOutcome outcome = run(
      tiny.config({"steps=10", "optimizer.lr=1e30", "schedule.type=linear"}));
  EXPECT_EQ(outcome.result->skipped, 9);
  EXPECT_EQ(outcome.result->loss, outcome.of<StepEvent>().front().loss);
  const auto progress =
      checkpoint::read_manifest(tiny.path("run") + "/step-00000010").progress;
  EXPECT_EQ(progress.step, 10);
  EXPECT_EQ(progress.updates, 1);
  EXPECT_EQ(progress.position, 40);
  EXPECT_DOUBLE_EQ(outcome.of<StepEvent>().back().lr, 1e30 * 0.9);
}

// As another process would; returns once the wish has been heard.
void ask_to_stop() {
  const StopSignal signal;
  kill(getpid(), SIGTERM);
  while (!signal.seen()) std::this_thread::yield();
}

bool holds_back_terminate() {
  sigset_t held;
  pthread_sigmask(SIG_BLOCK, nullptr, &held);
  return sigismember(&held, SIGTERM) == 1;
}

TEST(Stopping, InterruptsNoThreadThatComputes) {
  const StopSignal signal;
  ThreadPool pool(3);
  std::atomic<int> held_back = 0;
  pool.parallel_for(
      64, [&](std::int64_t, int) { held_back += holds_back_terminate(); });
  EXPECT_EQ(held_back, 64);
  ask_to_stop();
  EXPECT_TRUE(signal.seen());
}

TEST(Stopping, HearsAnInterruptionUnlessItIsIgnored) {
  {
    const StopSignal signal;
    kill(getpid(), SIGINT);
    while (!signal.seen()) std::this_thread::yield();
  }
  const auto before = ::signal(SIGINT, SIG_IGN);
  {
    const StopSignal signal;
    kill(getpid(), SIGINT);
    EXPECT_FALSE(signal.seen());
  }
  ::signal(SIGINT, before);
}

TEST(Stopping, IsForgottenWithItsLastListener) {
  {
    const StopSignal signal;
    ask_to_stop();
  }
  EXPECT_FALSE(holds_back_terminate());
  EXPECT_FALSE(StopSignal().seen());
}

TEST(Stopping, SavesAfterTheStepInProgressAndGoesOnWithTheSameBits) {
  const TinyRuns tiny;
  const auto whole = run(tiny.config({"steps=6"}));
  const auto second = tiny.config({"steps=6", "output=" + tiny.path("second")});
  const auto stopped =
      attempt(second, {.ranks = 3, .on_step = [](const auto& s) {
                         if (s.step == 2) ask_to_stop();
                       }});
  EXPECT_EQ(stopped.world.exit_code, kStoppedExit);
  ASSERT_TRUE(stopped.result);
  EXPECT_TRUE(stopped.result->stopped);
  EXPECT_EQ(steps_in(tiny.path("second")), (std::vector<std::int64_t>{2}));
  const auto resumed = run(second, {.ranks = 2, .resume = "auto"});
  EXPECT_EQ(resumed.result->fingerprint, whole.result->fingerprint);
}

int in_processes(const RunConfig& config, const HowToRun& how) {
  RecordingSink sink;
  sink.on_step = how.on_step;
  const auto world = comm::run_processes(
      how.ranks, {.timeout_s = 20}, [&](comm::Communicator& communicator) {
        const TrainResult result =
            train(config, {.resume = how.resume}, communicator, sink);
        return result.stopped ? kStoppedExit : 0;
      });
  EXPECT_EQ(world.failure ? world.failure->message : "", "");
  return world.exit_code;
}

TEST(Processes, EndWithTheBitsOfThreads) {
  const TinyRuns tiny;
  EXPECT_EQ(in_processes(tiny.config(), {.ranks = 3}), 0);
  const auto threads =
      run(tiny.config({"output=" + tiny.path("threads")}), {.ranks = 2});
  EXPECT_EQ(checkpoint::fingerprint(tiny.path("run")),
            threads.result->fingerprint);
}

// Rank 0 alone gets the signal.
TEST(Processes, AllStopAfterTheStepInWhichOneIsAsked) {
  const TinyRuns tiny;
  const auto stop = [](const StepEvent& step) {
    if (step.step == 2) ask_to_stop();
  };
  EXPECT_EQ(in_processes(tiny.config(), {.ranks = 3, .on_step = stop}),
            kStoppedExit);
  EXPECT_EQ(steps_in(tiny.path("run")), (std::vector<std::int64_t>{2}));
}

}  // namespace
}  // namespace quire::train
