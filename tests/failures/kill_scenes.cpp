#include "tests/failures/kill_scenes.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>

#include "quire/checkpoint/run_folder.h"
#include "quire/checkpoint/verify.h"
#include "quire/comm/run.h"
#include "quire/core/error.h"
#include "quire/train/run.h"
#include "tests/support/token_language.h"

namespace quire::failures {
namespace {

namespace fs = std::filesystem;
using test::DiskCall;
using test::PowerLoss;

constexpr int kVocabulary = 256;
constexpr int kHalf = 4, kSaved = 6, kWhole = 8;  // steps
constexpr double kTimeoutS = 20;

class Silence final : public train::Sink {
  void write(const train::Event& /*event*/) override {}
};

std::uint64_t train_to(int steps, const KillStage& stage,
                       const std::string& output,
                       comm::Communicator& communicator) {
  Silence silence;
  return train::train(stage.config(output, steps), {.resume = "auto"},
                      communicator, silence)
      .fingerprint;
}

// On threads of this process; REQUIRES none else. Returns the fingerprint.
std::uint64_t run_healthy(int ranks, int steps, const KillStage& stage,
                          const std::string& output) {
  std::atomic<std::uint64_t> fingerprint = 0;
  const auto result = comm::run_threads(
      ranks, {.timeout_s = kTimeoutS}, [&](comm::Communicator& communicator) {
        const auto mine = train_to(steps, stage, output, communicator);
        if (communicator.rank() == 0) fingerprint = mine;
        return 0;
      });
  if (result.failure) throw SystemError(result.failure->to_string());
  return fingerprint;
}

// ---- a rank that is struck

struct Strike {
  int rank;
  std::size_t call;  // of the rank
  int error;         // errno; 0: SIGKILL instead
};

std::string name_of(const Strike& strike, const DiskCall& call) {
  std::string name = strike.error == 0        ? "SIGKILL"
                     : strike.error == ENOSPC ? "ENOSPC"
                                              : "EIO";
  name += " at call " + std::to_string(strike.call) + " of rank " +
          std::to_string(strike.rank);
  return name + ": " + to_string(call);
}

// Shared by all processes of a scene.
struct StrikePage {
  std::atomic<bool> struck;
  bool saving;  // it was a call of a save, which all ranks end together
  char path[512];
  std::uint64_t fingerprint;
  int rank;  // of the failure
  char message[2048];
};

bool is_of_save(const DiskCall& call) {
  const std::string& path = call.to.empty() ? call.path : call.to;
  return path.find("step-0000000") != std::string::npos &&
         path.find("removed") == std::string::npos;
}

class Striker final : public test::DiskWatcher {
 public:
  Striker(const Strike& strike, StrikePage& page)
      : strike_(&strike), page_(&page) {}

  int before(const DiskCall& call) override {
    const std::lock_guard lock(mutex_);
    if (count_++ != strike_->call || page_->struck) return 0;
    page_->saving = is_of_save(call);
    store(page_->path, call.to.empty() ? call.path : call.to);
    page_->struck = true;
    if (strike_->error == 0) kill(getpid(), SIGKILL);
    return strike_->error;
  }
  void after(const DiskCall& /*call*/) override {}

 private:
  const Strike* strike_;
  StrikePage* page_;
  std::mutex mutex_;
  std::size_t count_ = 0;
};

// ---- what must hold afterwards

// Every step that can be seen is whole, and the newest without damage.
void expect_whole(const Place& place, const std::string& run,
                  const std::string& when) {
  const auto steps = checkpoint::list_steps(run);
  place.expect(!steps.empty(), "a checkpoint" + when);
  for (const auto& step : steps)
    place.expect(step.problem.empty(), "whole steps only" + when + ", got " +
                                           step.path + ": " + step.problem);
  if (steps.empty()) return;
  for (const auto& damage : checkpoint::verify(steps.back().path))
    place.problem("damage" + when + ": " + damage.message);
}

void expect_recovery(const Place& place, const KillStage& stage,
                     const std::string& run, const std::string& when) {
  const pid_t child = fork();
  if (child == 0) {
    const auto ranks = static_cast<int>(when.size() % 4) + 1;
    try {
      place.expect(
          run_healthy(ranks, kWhole, stage, run) == stage.fingerprint(),
          "the bits of the run that nothing disturbed" + when);
    } catch (const std::exception& error) {
      place.problem("a resume" + when + ": " + error.what());
    }
    _exit(0);
  }
  place.end_of(child);
  expect_whole(place, run, when + " and a resume");
  place.expect(fs::exists(run + "/" + checkpoint::step_name(kWhole)),
               "the next save" + when);
  place.expect_nothing_hidden(run);
}

class StruckRun {
 public:
  StruckRun(const Strike& strike, const KillStage& stage, const Place& place)
      : strike_(strike), stage_(stage), place_(place) {}

  void run() {
    fs::copy(stage_.half(), run_folder(), fs::copy_options::recursive);
    const pid_t launcher = fork();
    if (launcher == 0) launch();
    const int code = place_.end_of(launcher);
    place_.expect(page_->struck, "a strike");
    place_.expect_nothing_left();
    if (strike_.error != 0 && page_->saving)
      check_same_process(code);
    else
      check_failure(code);
    expect_whole(place_, run_folder(), "");
    expect_recovery(place_, stage_, run_folder(), "");
  }

 private:
  std::string run_folder() const { return place_.path("run"); }

  [[noreturn]] void launch() {
    const auto result =
        comm::run_processes(kKillRanks, {.timeout_s = kTimeoutS},
                            [this](comm::Communicator& communicator) {
                              return be_rank(communicator);
                            });
    page_->rank = result.failure ? result.failure->rank : -1;
    if (result.failure) store(page_->message, result.failure->to_string());
    _exit(result.exit_code);
  }

  int be_rank(comm::Communicator& communicator) {
    std::optional<Striker> striker;
    std::optional<test::DiskWatch> watch;
    if (communicator.rank() == strike_.rank) {
      striker.emplace(strike_, *page_);
      watch.emplace(run_folder(), *striker);
    }
    try {
      train_to(stage_.struck_steps(), stage_, run_folder(), communicator);
    } catch (const std::exception& error) {
      if (strike_.error == 0 || !page_->saving) throw;
      go_on(communicator, error.what());
    }
    return 0;
  }

  // The same processes and their world train on.
  void go_on(comm::Communicator& communicator, const std::string& message) {
    expect_named(message);
    if (communicator.rank() == 0) {
      expect_whole(place_, run_folder(), " after the failure");
      place_.expect_nothing_hidden(run_folder());
    }
    const auto mine = train_to(kWhole, stage_, run_folder(), communicator);
    if (communicator.rank() == 0) page_->fingerprint = mine;
  }

  // Rank, file and reason.
  void expect_named(const std::string& message) const {
    const std::string rank = "rank " + std::to_string(strike_.rank);
    for (const std::string& part :
         {rank, file_name(), std::string(std::strerror(strike_.error))})
      place_.expect(message.find(part) != std::string::npos,
                    part + " in: " + message);
  }
  // A step that is removed is named as a whole.
  std::string file_name() const {
    const std::string path = page_->path;
    if (path.find("removed") != std::string::npos)
      return path.substr(1, std::strlen("step-00000002"));
    const std::string name = fs::path(path).filename();
    return name.empty() ? "run" : name;
  }

  void check_same_process(int code) const {
    place_.expect(code == 0,
                  std::string("processes that go on: ") + page_->message);
    place_.expect(page_->fingerprint == stage_.fingerprint(),
                  "the bits of the run that nothing disturbed");
  }

  // Of what rank 0 does alone; a failure to remove an old step may be none.
  void check_failure(int code) const {
    if (strike_.error != 0 && code == 0) return;
    place_.expect(code == 3 && page_->rank == strike_.rank,
                  "exit code 3 and the struck rank, got " +
                      std::to_string(code) + ", " + page_->message);
    const std::string message = page_->message;
    if (strike_.error != 0) return expect_named(message);
    place_.expect(message.find("SIGKILL") != std::string::npos,
                  "SIGKILL in: " + message);
  }

  const Strike& strike_;
  const KillStage& stage_;
  const Place& place_;
  Shared<StrikePage> page_;
};

// ---- a power loss

std::vector<PowerLoss::Case> cases_before(std::size_t call) {
  using Names = PowerLoss::Names;
  using Bytes = PowerLoss::Bytes;
  std::vector<PowerLoss::Case> cases;
  for (const auto names :
       {Names::kLost, Names::kKept, Names::kUpToOne, Names::kUpToOneOfAFolder})
    for (const auto bytes :
         {Bytes::kLost, Bytes::kKept, Bytes::kZeros, Bytes::kTorn})
      cases.push_back({call, names, bytes, 100 * call + cases.size()});
  return cases;
}

void expect_survives(const PowerLoss::Case& c, const KillStage& stage,
                     const Place& place) {
  const std::string run = place.path("run");
  const std::string when = " after " + to_string(c);
  fs::remove_all(run);
  stage.power_loss().leave(c, run);
  expect_whole(place, run, when);
  const std::string saved = checkpoint::step_name(kSaved);
  if (stage.power_loss().is_sure(saved, c.call))
    place.expect(fs::exists(run + "/" + saved), "what was saved" + when);
}

void lose_power(std::size_t call, const KillStage& stage, const Place& place) {
  const auto cases = cases_before(call);
  for (const auto& c : cases) expect_survives(c, stage, place);
  expect_survives(cases[call % cases.size()], stage, place);
  expect_recovery(place, stage, place.path("run"),
                  " after " + to_string(cases[call % cases.size()]));
}

}  // namespace

KillStage::KillStage(Way way) : way_(way) {
  data::write_u16(folder_ / "train.bin", data::varied(24 * 8 + 1, kVocabulary));
  fingerprint_ = run_healthy(1, kWhole, *this, folder_ / "whole");
  run_healthy(2, kHalf, *this, half_);
  power_loss_.emplace(half_, record());
}

train::RunConfig KillStage::config(const std::string& output, int steps) const {
  const std::string text =
      R"({"seed": 5, "threads": 1, "model": {"type": "gpt2", "layers": 2,
      "width": 12, "heads": 2, "context": 8, "dropout": 0.1, "vocab": 256},
      "data": {"sequence": 8}, "batch": {"lanes": 6, "lane_samples": 1},
      "optimizer": {"type": "adamw", "lr": 0.01, "clip_norm": 1.0},
      "checkpoint": {"every": 2, "keep": 2}})";
  return train::parse_config(
      text, "the stage",
      {"steps=" + std::to_string(steps), "output=" + output,
       "data.train=" + folder_ / "train.bin",
       way_ == Way::kWaits ? "checkpoint.async=false"
                           : "checkpoint.async=true"});
}

std::vector<DiskCall> KillStage::record() const {
  const std::string run = folder_ / "recorded";
  fs::copy(half_, run, fs::copy_options::recursive);
  test::DiskLog log;
  const auto result = comm::run_processes(
      kKillRanks, {.timeout_s = kTimeoutS},
      [&](comm::Communicator& communicator) {
        test::DiskRecorder recorder(log, communicator.rank());
        const test::DiskWatch watch(run, recorder);
        train_to(struck_steps(), *this, run, communicator);
        return 0;
      });
  if (result.failure) throw SystemError(result.failure->to_string());
  return log.calls();
}

std::vector<DiskCall> KillStage::calls_of(int rank) const {
  std::vector<DiskCall> mine;
  for (const DiskCall& call : power_loss_->calls())
    if (call.rank == rank) mine.push_back(call);
  return mine;
}

std::vector<Scene> KillStage::scenes() const {
  std::vector<Scene> scenes;
  for (int rank = 0; rank < kKillRanks; ++rank) {
    const auto calls = calls_of(rank);
    for (std::size_t call = 0; call < calls.size(); ++call)
      for (const int error : {0, ENOSPC, EIO}) {
        const Strike strike{rank, call, error};
        scenes.push_back({.name = name_of(strike, calls[call]),
                          .play = [this, strike](const Place& place) {
                            StruckRun(strike, *this, place).run();
                          }});
      }
  }
  for (std::size_t call = 0; call <= power_loss_->calls().size(); ++call)
    scenes.push_back({.name = "power loss before call " + std::to_string(call),
                      .play = [this, call](const Place& place) {
                        lose_power(call, *this, place);
                      }});
  return scenes;
}

}  // namespace quire::failures
