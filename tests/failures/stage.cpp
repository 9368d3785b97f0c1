#include "tests/failures/stage.h"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "quire/checkpoint/run_folder.h"
#include "quire/checkpoint/verify.h"
#include "quire/comm/run.h"
#include "quire/core/error.h"
#include "quire/train/generate.h"
#include "quire/train/run.h"
#include "tests/failures/strike.h"
#include "tests/support/token_language.h"

namespace quire::failures {
namespace {

namespace fs = std::filesystem;

constexpr int kVocabulary = 256;  // of bytes, so that it generates
constexpr int kSteps = 6;
constexpr const char* kPrompt = "In the";

train::GenerateOptions generation(const std::string& model) {
  return {.model = model, .prompt = kPrompt, .tokens = 4, .threads = 1};
}

// ---- what a cell expects

bool is_of_training(Phase phase) {
  return phase != Phase::kSave && phase != Phase::kLoad &&
         phase != Phase::kEvaluation && phase != Phase::kGeneration;
}

std::int64_t expected_step(const Cell& cell) {
  if (is_of_training(cell.phase)) return kStruckStep;
  if (cell.phase == Phase::kLoad) return kSavedStep;
  return cell.phase == Phase::kGeneration ? -1 : kStruckSave;
}

// A read ahead is of the step before; what fails in it is told in the step.
bool is_expected_step(const Cell& cell, std::int64_t step) {
  const bool ahead = cell.phase == Phase::kData && cell.processes;
  return step == expected_step(cell) ||
         (ahead && step == expected_step(cell) - 1);
}

// What place, message or both say of where it was.
std::string expected_place(const Cell& cell) {
  const bool io = cell.harm == Harm::kThrows;
  switch (cell.phase) {
    case Phase::kData:
      return cell.processes ? (io ? "train.bin" : "") : "data";
    case Phase::kForward:
      return "layer h.1 (forward)";
    case Phase::kBackward:
      return "layer h.1 (backward)";
    case Phase::kReduce:  // beside the rank's own work, wherever that is
    case Phase::kCommit:
      return "";
    case Phase::kUpdate:
      return "update";
    case Phase::kSave:
      return cell.harm == Harm::kRunsOutOfDisk ? "disk/run/" : file_of(cell);
    case Phase::kLoad:
      return file_of(cell);
    case Phase::kEvaluation:
      return io ? "validation.bin" : "evaluate";
    case Phase::kGeneration:
      return "generate";
  }
  return "";
}

std::string expected_message(const Cell& cell) {
  const bool file = cell.phase == Phase::kSave || cell.phase == Phase::kLoad ||
                    cell.phase == Phase::kEvaluation ||
                    (cell.phase == Phase::kData && cell.processes);
  switch (cell.harm) {
    case Harm::kThrows:
      return file ? "Input/output error" : "it was struck";
    case Harm::kIsKilled:
      return "killed by signal 9 (SIGKILL)";
    case Harm::kEndsEarly:
      return cell.processes ? "exited with code 0 before the run ended"
                            : "left the run while";
    case Harm::kStalls:
      return "did not arrive within";
    case Harm::kRunsOutOfBudget:
      return "budget";
    case Harm::kRunsOutOfDisk:
      return "cannot be";
  }
  return "";
}

// ---- the processes of a cell

class Play {
 public:
  Play(const Cell& cell, const Stage& stage, const Limits& limits,
       const Place& place)
      : cell_(cell), stage_(stage), limits_(limits), place_(place) {}
  ~Play() {
    if (mounted_) umount2(place_.path("disk").c_str(), MNT_DETACH);
  }
  Play(const Play&) = delete;
  Play& operator=(const Play&) = delete;

  void run() {
    prepare();
    const int code = disturb();
    check_end(code);
    place_.expect_nothing_left();
    if (!died()) place_.expect_nothing_hidden(run_folder());
    generates() ? check_generation() : check_recovery();
  }

 private:
  bool generates() const { return cell_.phase == Phase::kGeneration; }
  bool stalls() const { return cell_.harm == Harm::kStalls; }
  // A process that died has removed nothing; the next save does.
  bool died() const {
    return cell_.harm != Harm::kThrows && cell_.harm != Harm::kRunsOutOfDisk;
  }
  std::string run_folder() const { return place_.path("disk/run"); }

  void prepare() {
    fs::create_directory(place_.path("disk"));
    if (cell_.harm == Harm::kRunsOutOfDisk && cell_.stage % 2 == 0)
      mount_disk();
    if (cell_.phase == Phase::kLoad)
      fs::copy(stage_.path("half"), run_folder(), fs::copy_options::recursive);
  }

  // A small disk of its own, where the system allows that; a file on it says
  // so. In a space of names that ends with this process.
  void mount_disk() {
    if (unshare(CLONE_NEWNS) != 0) return;
    mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    const std::string disk = place_.path("disk");
    mounted_ = mount("quire", disk.c_str(), "tmpfs", 0, "size=1m") == 0;
    if (!mounted_) return;
    std::ofstream(disk + "/ballast").put('x');
  }

  // The run as its launcher's process; returns that one's exit code.
  int disturb() {
    const pid_t launcher = fork();
    if (launcher == 0) launch();
    const int code = place_.end_of(launcher);
    const double since = seconds_since(page_->struck_ns);
    place_.expect(page_->struck_ns != 0, "a strike");
    place_.expect(since <= (stalls() ? limits_.stall_wait_s + limits_.stall_s
                                     : limits_.death_s),
                  "an end within the limit, got one after " +
                      std::to_string(since) + " s");
    return code;
  }

  [[noreturn]] void launch() {
    const comm::LocalOptions options{
        .timeout_s = stalls() ? limits_.stall_wait_s : limits_.wait_s,
        .mapped = cell_.mapped};
    const auto main = [this](comm::Communicator& communicator) {
      return be_rank(communicator);
    };
    const comm::RunResult result =
        cell_.processes ? comm::run_processes(cell_.ranks, options, main)
                        : comm::run_threads(cell_.ranks, options, main);
    page_->exit_code = result.exit_code;
    page_->failed = result.failure.has_value();
    if (result.failure) tell(*result.failure);
    _exit(result.exit_code);  // over a thread that stalls
  }

  void tell(const comm::Failure& failure) {
    page_->rank = failure.rank;
    page_->step = failure.step;
    store(page_->message, failure.place() + ": " + failure.message);
  }

  int be_rank(comm::Communicator& communicator) {
    if (communicator.rank() != cell_.victim) return work(communicator);
    Striker striker(cell_, *page_, run_folder());
    const FileStrikes strikes(striker, cell_.processes);
    StrikingCommunicator striking(communicator, striker);
    try {
      return work(striking);
    } catch (const EndsEarly&) {
      return 0;
    }
  }

  int work(comm::Communicator& communicator) {
    if (generates()) {
      train::generate(generation(stage_.path("whole")), communicator);
      return 0;
    }
    train_on(communicator, cell_.stage);
    return 0;
  }

  void train_on(comm::Communicator& communicator, int stage) {
    train::RunConfig config = stage_.config(run_folder());
    config.stage = stage;
    if (cell_.harm == Harm::kRunsOutOfBudget) config.budget_bytes = 1 << 24;
    const auto sink = train::json_lines_sink(config.output);
    const auto result =
        train::train(config, {.resume = "auto"}, communicator, *sink);
    if (communicator.rank() == 0) page_->fingerprint = result.fingerprint;
  }

  // ---- what must hold then

  void check_end(int code) const {
    place_.expect(code == 3, "exit code 3, got " + std::to_string(code));
    place_.expect(page_->failed && page_->exit_code == code,
                  "a failure with this exit code");
    const std::string told = "rank " + std::to_string(page_->rank) + ", step " +
                             std::to_string(page_->step) + ", " +
                             page_->message;
    const auto expect = [&](bool holds, const std::string& what) {
      place_.expect(holds, what + ", got " + told);
    };
    const bool any_rank = cell_.harm == Harm::kRunsOutOfDisk;
    expect(any_rank || page_->rank == cell_.victim, "the victim's rank");
    expect(is_expected_step(cell_, page_->step), "the step");
    for (const std::string& part :
         {expected_place(cell_), expected_message(cell_)})
      expect(told.find(part) != std::string::npos, part);
  }

  void check_recovery() {
    fs::remove(place_.path("disk/ballast"));
    place_.expect(checkpoint::verify(run_folder()).empty(),
                  "a checkpoint without damage");
    const std::string newest = newest_step();
    page_->fingerprint = 0;
    resume();
    place_.expect(page_->fingerprint == stage_.fingerprint(),
                  "the same bits after resuming from " + newest);
    place_.expect_nothing_hidden(run_folder());
  }

  std::string newest_step() const {
    const auto steps = checkpoint::list_steps(run_folder());
    if (!steps.empty() && steps.back().problem.empty())
      return steps.back().path;
    place_.problem("no whole checkpoint is left");
    return "none";
  }

  // On another number of ranks, at another stage.
  void resume() {
    run_healthy(cell_.ranks % 5 + 1, [this](comm::Communicator& communicator) {
      train_on(communicator, (cell_.stage + 1) % 4);
    });
  }

  void check_generation() {
    place_.expect(checkpoint::verify(stage_.path("whole")).empty(),
                  "a checkpoint without damage");
    run_healthy(1, [this](comm::Communicator& communicator) {
      const auto again =
          train::generate(generation(stage_.path("whole")), communicator);
      place_.expect(again.text == stage_.text(), "the same text");
    });
  }

  void run_healthy(int ranks,
                   const std::function<void(comm::Communicator&)>& main) {
    const pid_t launcher = fork();
    if (launcher == 0) {
      const auto result =
          comm::run_threads(ranks, {.timeout_s = limits_.wait_s},
                            [&](comm::Communicator& communicator) {
                              main(communicator);
                              return 0;
                            });
      if (result.failure) place_.problem(result.failure->to_string());
      _exit(result.exit_code);
    }
    const int code = place_.end_of(launcher);
    place_.expect(code == 0, "a run that ends well, got exit code " +
                                 std::to_string(code));
  }

  const Cell& cell_;
  const Stage& stage_;
  const Limits& limits_;
  const Place& place_;
  Shared<Page> page_;
  bool mounted_ = false;
};

}  // namespace

Stage::Stage() {
  data::write_u16(folder_ / "train.bin", data::varied(24 * 8 + 1, kVocabulary));
  data::write_u16(folder_ / "validation.bin",
                  data::varied(10 * 8 + 1, kVocabulary));
  const auto result =
      comm::run_threads(1, {}, [&](comm::Communicator& communicator) {
        const std::string folder = path("whole");
        const auto sink = train::json_lines_sink(folder);
        const auto trained =
            train::train(config(folder), {}, communicator, *sink);
        fingerprint_ = trained.fingerprint;
        text_ = train::generate(generation(folder), communicator).text;
        return 0;
      });
  if (result.failure) throw SystemError(result.failure->to_string());
  fs::create_directory(path("half"));
  const std::string step = checkpoint::step_name(kSavedStep);
  fs::copy(fs::path(path("whole")) / step, fs::path(path("half")) / step,
           fs::copy_options::recursive);
}

train::RunConfig Stage::config(const std::string& output) const {
  const std::string text =
      R"({"seed": 5, "threads": 1, "model": {"type": "gpt2", "layers": 2,
      "width": 12, "heads": 2, "context": 8, "dropout": 0.1, "vocab": 256},
      "data": {"sequence": 8}, "batch": {"lanes": 10, "lane_samples": 1},
      "optimizer": {"type": "adamw", "lr": 0.01, "clip_norm": 1.0},
      "checkpoint": {"every": 2}, "evaluate": {"every": 2}})";
  return train::parse_config(
      text, "the stage",
      {"steps=" + std::to_string(kSteps), "output=" + output,
       "data.train=" + path("train.bin"),
       "data.validation=" + path("validation.bin")});
}

Scene scene_of(const Cell& cell, const Stage& stage, const Limits& limits) {
  return {.name = name_of(cell),
          .waits = cell.harm == Harm::kStalls,
          .play = [cell, &stage, limits](const Place& place) {
            Play(cell, stage, limits, place).run();
          }};
}

}  // namespace quire::failures
