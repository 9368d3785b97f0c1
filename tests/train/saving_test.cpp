// Saves that are written while the run goes on, and what they leave.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "quire/checkpoint/run_folder.h"
#include "quire/checkpoint/verify.h"
#include "quire/core/error.h"
#include "quire/train/detail/stop_signal.h"
#include "tests/support/wrapped_communicator.h"
#include "tests/train/run_language.h"

namespace quire::train {
namespace {

using checkpoint::FileObserver;
using checkpoint::fingerprint;
using Strings = std::vector<std::string>;

const Strings kApart = {"checkpoint.every=1", "checkpoint.async=true"};

Strings with(Strings all, const Strings& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Strings steps_in(const std::string& folder) {
  Strings names;
  for (const auto& step : checkpoint::list_steps(folder)) {
    EXPECT_EQ(step.problem, "");
    EXPECT_TRUE(checkpoint::verify(step.path).empty()) << step.path;
    names.push_back(checkpoint::step_name(step.step));
  }
  return names;
}

// As another process would; returns once the wish has been heard.
void ask_to_stop() {
  const StopSignal signal;
  ::kill(::getpid(), SIGTERM);
  while (!signal.seen()) std::this_thread::yield();
}

void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

// Of what a broken run would never do, the test that waits says so.
void nap_until(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds() && std::chrono::steady_clock::now() < end) nap();
  EXPECT_TRUE(holds());
}

// At the first write to a rank's shard of that step.
FileObserver at_write_of(const std::string& step, std::function<void()> act) {
  const auto done = std::make_shared<std::atomic<bool>>(false);
  return [=](std::string_view operation, const std::string& path) {
    const bool here = operation == "write" &&
                      path.find(step) != std::string::npos &&
                      path.find("shard") != std::string::npos;
    if (here && !done->exchange(true)) act();
  };
}

TEST(SavingApart, LeavesTheStepsThatASaveInPlaceLeaves) {
  for (const int ranks : {1, 3}) {
    const TinyRuns tiny;
    const auto apart =
        run(tiny.config(with(kApart, {"output=" + tiny.path("apart")})),
            {.ranks = ranks});
    const auto still = run(tiny.config({"checkpoint.every=1"}));
    EXPECT_EQ(apart.result->fingerprint, still.result->fingerprint);
    const Strings steps = steps_in(tiny.path("apart"));
    EXPECT_EQ(steps, steps_in(tiny.path("run")));
    ASSERT_EQ(steps.size(), 4u);
    for (const auto& step : steps)
      EXPECT_EQ(fingerprint(tiny.path("apart/" + step)),
                fingerprint(tiny.path("run/" + step)));
  }
}

TEST(SavingApart, NeedsWhatWasPredictedAtAnyStageOnAnyNumberOfRanks) {
  for (const int stage : {0, 1, 2, 3})
    for (const int ranks : {1, 2, 3}) {
      const TinyRuns tiny;
      const auto apart = run(
          tiny.config({"zero.stage=" + std::to_string(stage), "steps=2",
                       "precision.compute=" +
                           std::string((stage + ranks) % 2 ? "bf16" : "fp32"),
                       "checkpoint.every=1", "checkpoint.async=true"}),
          {.ranks = ranks});
      EXPECT_EQ(apart.result->memory.measured_peak_bytes,
                apart.result->memory.predicted_peak_bytes);
    }
}

TEST(SavingApart, HoldsMasterAndMomentsOnceMore) {
  const TinyRuns tiny;
  const auto apart = run(tiny.config(kApart));
  const auto still = run(tiny.config({"output=" + tiny.path("still")}));
  // 16 x 12 + 8 x 12 of embeddings; a block has 25 tiles of 256 elements: its
  // layer norms 4, attention 36 x 12 + 36 + 144 + 12 in 2 + 1 + 1 + 1, feed
  // forward 576 + 48 + 576 + 12 in 3 + 1 + 3 + 1, so 17; the last norm 2.
  const std::int64_t tiles = 1 + 1 + 2 * (4 + 5 + 8) + 2;
  EXPECT_EQ(apart.result->memory.measured_peak_bytes -
                still.result->memory.measured_peak_bytes,
            3 * tiles * 256 * 4);
}

TEST(SavingApart, MeasuresThePauseOfTheSteps) {
  const TinyRuns tiny;
  const auto apart =
      run(tiny.config(kApart),
          {.observer = [](int) { return at_write_of("step-00000002", nap); }});
  double longest = 0.0;
  for (const auto& save : apart.of<SaveEvent>()) {
    EXPECT_LE(save.pause, save.seconds);
    if (save.step < 4) longest = std::max(longest, save.pause);
  }
  EXPECT_GT(longest, 0.0);
  EXPECT_EQ(apart.result->pause, longest);
}

TEST(SavingApart, WaitsForAnEarlierSaveIfToldTo) {
  const TinyRuns tiny;
  const auto apart =
      run(tiny.config(with(kApart, {"checkpoint.when_busy=wait"})),
          {.ranks = 2,
           .observer = [](int) { return at_write_of("step-00000001", nap); }});
  EXPECT_EQ(steps_in(tiny.path("run")).size(), 4u);
  std::vector<std::int64_t> told;
  for (const auto& save : apart.of<SaveEvent>()) told.push_back(save.step);
  EXPECT_EQ(told, (std::vector<std::int64_t>{1, 2, 3, 4}));
}

TEST(SavingApart, LeavesASaveOutIfToldToRefuse) {
  const TinyRuns tiny;
  std::atomic<bool> third = false;
  const auto outcome =
      run(tiny.config(with(kApart, {"checkpoint.when_busy=refuse"})),
          {.ranks = 2,
           .on_step = [&](const StepEvent& event) { third = event.step >= 3; },
           .observer =
               [&](int) {
                 return at_write_of("step-00000001", [&] {
                   nap_until([&] { return third.load(); });
                 });
               }});
  const Strings steps = steps_in(tiny.path("run"));
  EXPECT_EQ(std::ranges::count(steps, "step-00000001"), 1);
  EXPECT_EQ(std::ranges::count(steps, "step-00000002"), 0);
  EXPECT_EQ(std::ranges::count(steps, "step-00000004"), 1);
  expect_text(outcome.of<MessageEvent>().at(0).text,
              {"step 2 is not saved", "step 1", "checkpoint.when_busy"});
}

// The disk of one rank is full while the steps go on.
RunOutcome fail_at_step_two(const TinyRuns& tiny, Strings how) {
  return attempt(tiny.config(std::move(how)),
                 {.ranks = 2, .observer = [](int rank) {
                    return rank == 0 ? FileObserver()
                                     : at_write_of("step-00000002", [] {
                                         throw SystemError(
                                             "shard-00001-of-00002: No space "
                                             "left on device");
                                       });
                  }});
}

TEST(SavingApart, ThrowsAFailureBehindAStepAndLeavesTheStepBefore) {
  const TinyRuns tiny;
  const auto whole = run(tiny.config({"output=" + tiny.path("whole")}));
  for (const std::string async : {"true", "false"}) {
    const Strings how = {"checkpoint.every=1", "checkpoint.async=" + async,
                         "output=" + tiny.path("run" + async)};
    const auto outcome = fail_at_step_two(tiny, how);
    EXPECT_EQ(outcome.world.exit_code, 3);
    ASSERT_TRUE(outcome.world.failure);
    EXPECT_EQ(outcome.world.failure->rank, 1);
    expect_text(outcome.world.failure->to_string(),
                {"rank 1", "step 2", "save", "shard-00001-of-00002",
                 "No space left on device"});
    EXPECT_EQ(steps_in(tiny.path("run" + async)), Strings{"step-00000001"});
    const auto resumed = run(tiny.config(how), {.ranks = 2, .resume = "auto"});
    EXPECT_EQ(resumed.result->resumed_from, 1);
    EXPECT_EQ(resumed.result->fingerprint, whole.result->fingerprint);
  }
}

TEST(SavingApart, ASignalWaitsForTheSaveUnderWayAndThenSaves) {
  const TinyRuns tiny;
  const auto outcome = attempt(
      tiny.config(kApart),
      {.ranks = 2,
       .on_step =
           [](const StepEvent& event) {
             if (event.step == 2) ask_to_stop();
           },
       .observer = [](int) { return at_write_of("step-00000001", nap); }});
  EXPECT_EQ(outcome.world.exit_code, kStoppedExit);
  EXPECT_EQ(steps_in(tiny.path("run")),
            (Strings{"step-00000001", "step-00000002"}));
}

TEST(SavingApart, AnErrorLetsTheSaveUnderWayEnd) {
  const TinyRuns tiny;
  const auto outcome = attempt(
      tiny.config(with(kApart, {"checkpoint.every=2"})),
      {.ranks = 2,
       .on_step =
           [](const StepEvent& event) {
             if (event.step == 3) throw SystemError("the sink broke");
           },
       .observer = [](int) { return at_write_of("step-00000002", nap); }});
  expect_text(outcome.message(), {"the sink broke"});
  EXPECT_EQ(steps_in(tiny.path("run")), Strings{"step-00000002"});
}

// Notes the exit codes with which a rank ends its world.
class Ending final : public test::WrappedCommunicator {
 public:
  using WrappedCommunicator::WrappedCommunicator;
  std::unique_ptr<comm::Communicator> split(std::string_view channel) override {
    return inner().split(channel);
  }
  void abort(const comm::Failure& failure) noexcept override {
    exit_codes.push_back(failure.exit_code);
    inner().abort(failure);
    ++count;
  }
  std::vector<int> exit_codes;
  std::atomic<int> count = 0;
};

// Weights of 1e28 make every later loss overflow, while step 1 is written: once
// the run has ended its world, a second wait would have the time to end it too.
TEST(SavingApart, ADivergedRunWaitsOnceForASaveThatHangs) {
  const TinyRuns tiny;
  std::vector<int> exit_codes;
  comm::run_threads(1, {}, [&](comm::Communicator& communicator) {
    Ending ending(communicator);
    RecordingSink sink;
    const auto hang = [&] {
      nap_until([&] { return ending.count >= 2; });
      for (int i = 0; i < 4; ++i) nap();
    };
    EXPECT_THROW(
        train(tiny.config(with(kApart, {"steps=20", "optimizer.lr=1e30",
                                        "checkpoint.when_busy=refuse",
                                        "comm.timeout_s=0.1"})),
              {.observer = at_write_of("step-00000001", hang)}, ending, sink),
        Diverged);
    exit_codes = ending.exit_codes;
    return 0;
  });
  EXPECT_EQ(exit_codes, (std::vector<int>{kDivergedExit, kDivergedExit}));
}

TEST(Saving, KeepsStepsOfTheirMultiplesBesidesTheNewest) {
  for (const std::string async : {"true", "false"}) {
    const TinyRuns tiny;
    run(tiny.config({"checkpoint.every=1", "steps=5", "checkpoint.keep=1",
                     "checkpoint.keep_every=2", "checkpoint.async=" + async}));
    EXPECT_EQ(steps_in(tiny.path("run")),
              (Strings{"step-00000002", "step-00000004", "step-00000005"}));
  }
}

}  // namespace
}  // namespace quire::train
