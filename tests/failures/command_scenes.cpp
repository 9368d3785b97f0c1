#include "tests/failures/command_scenes.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

namespace quire::failures {
namespace {

using testing::Ended;
using testing::Started;
using testing::Words;

constexpr double kDeath = 2, kStallWait = 2, kStall = 5;  // s

std::string name_of(Kind kind) {
  switch (kind) {
    case Kind::kProcesses:
      return "processes";
    case Kind::kThreads:
      return "threads";
    case Kind::kQuireRun:
      return "processes of quire run";
  }
  return "";
}

// One run of the command that is disturbed from outside.
class Disturbed {
 public:
  Disturbed(const CommandStage& stage, const Place& place, Kind kind, int ranks)
      : stage_(stage), place_(place), kind_(kind), ranks_(ranks) {}

  // Told to end: it saves and goes on another time.
  void is_told(int signal) {
    begin();
    started_->send(signal);
    expect_end(75, 60);
    expect_clean();
    recover();
  }

  void loses_a_rank() {
    begin();
    strike(SIGKILL);
    expect_end(kind_ == Kind::kQuireRun ? 128 + SIGKILL : 3, kDeath);
    expect_error_of_victim();
    expect_left();
    recover();
  }

  void has_a_rank_that_stalls() {
    begin({"--set", "comm.timeout_s=2"});
    strike(SIGSTOP);
    expect_end(3, kStallWait + kStall);
    expect_error_of_victim();
    expect_left();
    recover();
  }

  void loses_its_launcher() {
    begin();
    struck_ = now_ns();
    started_->send(SIGKILL);
    started_->wait();
    while (seconds_since(struck_) < kDeath && has_children()) usleep(2000);
    expect_left();
    recover();
  }

  // The first cannot be heard: a rank stands still, or a step takes long.
  void is_told_twice() {
    if (kind_ == Kind::kThreads) {
      begin_slow();
    } else {
      begin();
      strike(SIGSTOP);
    }
    started_->send(SIGTERM);
    usleep(800'000);
    struck_ = now_ns();
    started_->send(SIGTERM);
    expect_end(kind_ == Kind::kQuireRun ? 128 + SIGKILL : 128 + SIGTERM,
               kDeath);
    expect_left();
  }

 private:
  std::string run_folder() const { return place_.path("run"); }
  int victim() const { return ranks_ - 1; }

  void begin(const Words& more = {}) {
    started_.emplace(stage_.words(kind_, ranks_, run_folder(), more));
    wait_for(run_folder() + "/step-00000020");
  }

  void begin_slow() {
    started_.emplace(
        stage_.words(kind_, ranks_, run_folder(),
                     {"--set", "model.width=512", "--set", "model.layers=8",
                      "--set", "batch.lane_samples=128"}));
    wait_for(run_folder() + "/metrics.jsonl");
    usleep(200'000);
  }

  void wait_for(const std::string& path) const {
    const std::int64_t begin = now_ns();
    while (!std::filesystem::exists(path) && started_->is_running() &&
           seconds_since(begin) < 60)
      usleep(2000);
    place_.expect(std::filesystem::exists(path), path);
  }

  void strike(int signal) {
    const auto children = started_->children();
    place_.expect(static_cast<int>(children.size()) == ranks_,
                  "a process for every rank");
    struck_ = now_ns();
    if (!children.empty()) kill(children.back(), signal);
  }

  void expect_end(int code, double limit_s) {
    if (struck_ == 0) struck_ = now_ns();
    const int got = started_->wait();
    const double took = seconds_since(struck_);
    place_.expect(got == code, "exit code " + std::to_string(code) + ", got " +
                                   std::to_string(got) + ", " +
                                   last_line(started_->err()));
    place_.expect(took <= limit_s, "an end within the limit, got one after " +
                                       std::to_string(took) + " s");
  }

  // In the last line; where quire run adds how the first process ended, in a
  // line of a rank's before.
  void expect_error_of_victim() const {
    const std::string error = "error: rank " + std::to_string(victim()) + " ";
    const std::string text = started_->err();
    const bool last = last_line(text).starts_with(error);
    const bool any = text.find(error) != std::string::npos;
    place_.expect(last || (kind_ == Kind::kQuireRun && any),
                  "the victim in the last line, got " + last_line(text));
  }

  static bool has_children() {
    return waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD;
  }

  void expect_left() const { place_.expect_nothing_left(); }
  void expect_clean() const {
    expect_left();
    place_.expect_nothing_hidden(run_folder());
  }

  // Goes on with processes, on another number of ranks.
  void recover() const {
    const Ended resumed = testing::quire_command(stage_.words(
        Kind::kProcesses, ranks_ % 5 + 1, run_folder(), {"--resume", "auto"}));
    if (resumed.code != 0)
      return place_.problem("the resumed run ended with " +
                            std::to_string(resumed.code) + ", " +
                            last_line(resumed.err));
    place_.expect(resumed.json().at("fingerprint") == stage_.fingerprint(),
                  "the same bits after resuming");
    expect_clean();
  }

  const CommandStage& stage_;
  const Place& place_;
  Kind kind_;
  int ranks_;
  std::optional<Started> started_;
  std::int64_t struck_ = 0;
};

struct Disturbance {
  std::string name;
  void (*play)(Disturbed& run);
  bool of_a_rank = false;
  bool waits = false;
};

const std::vector<Disturbance>& disturbances() {
  static const std::vector<Disturbance> kAll = {
      {.name = "is terminated",
       .play = [](Disturbed& run) { run.is_told(SIGTERM); }},
      {.name = "is interrupted",
       .play = [](Disturbed& run) { run.is_told(SIGINT); }},
      {.name = "is terminated twice",
       .play = [](Disturbed& run) { run.is_told_twice(); }},
      {.name = "is killed",
       .play = [](Disturbed& run) { run.loses_its_launcher(); }},
      {.name = "loses a rank",
       .play = [](Disturbed& run) { run.loses_a_rank(); },
       .of_a_rank = true},
      {.name = "has a rank that stalls",
       .play = [](Disturbed& run) { run.has_a_rank_that_stalls(); },
       .of_a_rank = true,
       .waits = true}};
  return kAll;
}

}  // namespace

std::string last_line(const std::string& text) {
  const auto end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const auto begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

CommandStage::CommandStage(int steps) : steps_(steps) {
  const Ended ended = testing::quire_command(words(Kind::kThreads, 1, whole()));
  if (ended.code != 0) throw std::runtime_error(ended.err);
  fingerprint_ = ended.json().at("fingerprint");
}

Words CommandStage::words(Kind kind, int ranks, const std::string& out,
                          const Words& more) const {
  const std::string count = std::to_string(ranks);
  Words words;
  if (kind == Kind::kQuireRun)
    words = {"run", "-n", count, "--", QUIRE_COMMAND};
  for (const std::string& word :
       {std::string("train"), folder_.path("config.json"), std::string("--out"),
        out, std::string("--json"), std::string("--set"),
        "steps=" + std::to_string(steps_), std::string("--set"),
        std::string("checkpoint.every=20"), std::string("--set"),
        std::string("checkpoint.keep=2"), std::string("--set"),
        std::string("threads=1")})
    words.push_back(word);
  if (kind != Kind::kQuireRun) {
    words.insert(words.end(), {"-n", count, "--ranks"});
    words.push_back(kind == Kind::kThreads ? "threads" : "processes");
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<Scene> CommandStage::scenes() const {
  std::vector<Scene> scenes;
  for (const Disturbance& disturbance : disturbances())
    for (const Kind kind : {Kind::kProcesses, Kind::kThreads, Kind::kQuireRun})
      for (const int ranks : {2, 3, 5}) {
        // A thread has no process that a signal could hit.
        if (disturbance.of_a_rank && kind == Kind::kThreads) continue;
        scenes.push_back(
            {.name = "command: " + std::to_string(ranks) + " " + name_of(kind) +
                     ", the run " + disturbance.name,
             .waits = disturbance.waits,
             .play = [this, &disturbance, kind, ranks](const Place& place) {
               Disturbed run(*this, place, kind, ranks);
               disturbance.play(run);
             }});
      }
  return scenes;
}

}  // namespace quire::failures
