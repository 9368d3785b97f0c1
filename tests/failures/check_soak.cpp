// Trains under random kills and goes on, on changing numbers of ranks, until
// the time is over: every run ends with the bits of one that nothing disturbed.
// Then runs that live long: their memory and descriptors do not grow.
//
//   check_soak MINUTES [SEED]
//
// Prints the seed, what was done, and "N passed, M failed" as its last line.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "quire/train/run.h"
#include "tests/failures/command_scenes.h"
#include "tests/support/tally.h"

namespace quire::failures {
namespace {

using testing::Ended;
using testing::Started;
using testing::Words;

constexpr int kSteps = 3000;
constexpr double kRoundsShare = 0.75;  // of the time

struct Counts {
  std::atomic<int> rounds, starts, rank_kills, whole_kills, terminations;
  std::atomic<std::int64_t> steps;  // of runs that ended or lived long
};

enum class Blow { kKillsARank, kKillsAll, kTerminates };

// One run, struck again and again until it is through.
class Round {
 public:
  Round(const CommandStage& stage, const Place& place, Counts& counts,
        std::uint64_t seed)
      : stage_(stage), place_(place), counts_(counts), random_(seed) {}

  void run() {
    constexpr int kMostStarts = 400;
    for (int start = 0; start < kMostStarts; ++start) {
      if (run_once()) return;
      place_.expect_nothing_left();
    }
    place_.problem("it never came to its end");
  }

 private:
  int any(int first, int last) {
    return std::uniform_int_distribution(first, last)(random_);
  }

  Words words() {
    kind_ = static_cast<Kind>(any(0, 2));
    ranks_ = any(1, 5);
    return stage_.words(
        kind_, ranks_, place_.path("run"),
        {"--resume", "auto", "--set", "zero.stage=" + std::to_string(any(0, 3)),
         "--set", "threads=" + std::to_string(any(1, 2))});
  }

  // True once it is through.
  bool run_once() {
    Started started(words(), {}, QUIRE_COMMAND, 120);
    ++counts_.starts;
    const std::int64_t begin = now_ns();
    const double delay = 1e-3 * any(50, 3000);
    while (started.is_running() && seconds_since(begin) < delay) usleep(1000);
    const bool struck = started.is_running();
    const Blow blow = static_cast<Blow>(any(0, 2));
    if (struck) strike(blow, started);
    const int code = started.wait();
    if (code == 127) throw std::runtime_error("the command cannot be run");
    if (struck && blow == Blow::kKillsAll) wait_for_orphans();
    if (code == 0) return is_through({code, started.out(), started.err()});
    expect_code(code, blow, started);
    place_.expect(struck, "a run that ends well, got exit code " +
                              std::to_string(code) + ", " +
                              last_line(started.err()));
    return false;
  }

  void strike(Blow blow, const Started& started) {
    const auto children = started.children();
    const bool ranks = kind_ != Kind::kThreads && !children.empty();
    if (blow == Blow::kKillsARank && ranks) {
      ++counts_.rank_kills;
      const int rank = any(0, static_cast<int>(children.size()) - 1);
      kill(children[static_cast<std::size_t>(rank)], SIGKILL);
    } else if (blow == Blow::kTerminates) {
      ++counts_.terminations;
      started.send(SIGTERM);
    } else {
      ++counts_.whole_kills;
      started.send(SIGKILL);
    }
  }

  // Its ranks are this process's children now; they die with the launcher.
  void wait_for_orphans() const {
    const std::int64_t begin = now_ns();
    while (seconds_since(begin) < 5 &&
           (waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD))
      usleep(1000);
    remove_meeting_folder();
  }

  // Where its ranks were about to meet: nobody was left to remove it.
  void remove_meeting_folder() const {
    for (const auto& entry :
         std::filesystem::directory_iterator(place_.path("tmp"))) {
      const std::string name = entry.path().filename();
      const std::string ours = "quire-" + std::to_string(geteuid()) + "-";
      if (name.starts_with(ours)) std::filesystem::remove_all(entry.path());
    }
  }

  // A termination ends a run that does not listen yet like any process.
  void expect_code(int code, Blow blow, const Started& started) const {
    std::vector<int> expected = {128 + SIGKILL};
    if (blow == Blow::kKillsARank) expected.push_back(3);
    if (blow == Blow::kTerminates)
      expected = {75, 128 + SIGTERM, 128 + SIGKILL};
    place_.expect(std::ranges::find(expected, code) != expected.end(),
                  "another exit code than " + std::to_string(code) + ", " +
                      last_line(started.err()));
  }

  bool is_through(const Ended& ended) {
    ++counts_.rounds;
    counts_.steps += kSteps;
    // Of quire run only what is saved can be told.
    place_.expect(kind_ == Kind::kQuireRun ||
                      ended.json().at("fingerprint") == stage_.fingerprint(),
                  "the same bits");
    const Ended same = testing::quire_command(
        {"verify", place_.path("run"), "--against", stage_.whole()});
    place_.expect(same.code == 0, "the same saved bits, got " + same.err);
    place_.expect_nothing_hidden(place_.path("run"));
    place_.expect_nothing_left();
    return true;
  }

  const CommandStage& stage_;
  const Place& place_;
  Counts& counts_;
  std::mt19937_64 random_;
  Kind kind_ = Kind::kProcesses;
  int ranks_ = 1;
};

// ---- runs that live long

struct Sample {
  std::int64_t resident_kib = 0;
  std::int64_t descriptors = 0;
  std::int64_t threads = 0;
};

std::int64_t value_of(const std::string& status, const std::string& key) {
  const auto at = status.find("\n" + key + ":");
  return at == std::string::npos
             ? 0
             : std::atoll(status.c_str() + at + key.size() + 2);
}

Sample sample_of(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const std::string status = testing::text_of(folder + "/status");
  std::error_code none;
  const std::filesystem::directory_iterator files(folder + "/fd", none);
  return {.resident_kib = value_of(status, "VmRSS"),
          .descriptors = std::distance(begin(files), end(files)),
          .threads = value_of(status, "Threads")};
}

// Of many samples the least: files are open while it saves, which on a slow
// disk is most of the time unless it saves seldom.
Sample least_of(const std::vector<Sample>& samples, std::size_t first,
                std::size_t last) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  Sample least{kMost, kMost, kMost};
  for (std::size_t i = first; i < last; ++i) {
    least.resident_kib = std::min(least.resident_kib, samples[i].resident_kib);
    least.descriptors = std::min(least.descriptors, samples[i].descriptors);
    least.threads = std::min(least.threads, samples[i].threads);
  }
  return least;
}

// The second third of the samples against the last: the first grows caches.
void expect_steady(const std::vector<Sample>& samples, const Place& place) {
  constexpr std::int64_t kMostGrowthKib = 1024;
  const std::size_t third = samples.size() / 3;
  if (third == 0) return place.problem("too few samples");
  const Sample before = least_of(samples, third, 2 * third);
  const Sample after = least_of(samples, 2 * third, samples.size());
  const auto grows = [](const char* what, std::int64_t a, std::int64_t b) {
    return std::string("steady ") + what + ", got " + std::to_string(a) +
           " and later " + std::to_string(b);
  };
  place.expect(after.resident_kib <= before.resident_kib + kMostGrowthKib,
               grows("memory in KiB", before.resident_kib, after.resident_kib));
  place.expect(after.descriptors <= before.descriptors,
               grows("descriptors", before.descriptors, after.descriptors));
  place.expect(after.threads <= before.threads,
               grows("threads", before.threads, after.threads));
}

void live_long(const CommandStage& stage, const Place& place, Kind kind,
               double seconds, Counts& counts) {
  const Words words =
      stage.words(kind, 3, place.path("run"),
                  {"--set", "steps=1000000000", "--set", "evaluate.every=50",
                   "--set", "checkpoint.every=1000"});
  Started started(words, {}, QUIRE_COMMAND,
                  static_cast<unsigned>(seconds) + 120);
  const std::int64_t begin = now_ns();
  std::vector<std::vector<Sample>> samples(kind == Kind::kThreads ? 1 : 3);
  while (seconds_since(begin) < seconds && started.is_running()) {
    usleep(100'000);
    std::vector<pid_t> processes = {started.pid()};
    if (kind != Kind::kThreads) processes = started.children();
    for (std::size_t i = 0; i < std::min(samples.size(), processes.size()); ++i)
      samples[i].push_back(sample_of(processes[i]));
  }
  for (const auto& of_process : samples) expect_steady(of_process, place);
  started.send(SIGTERM);
  const int code = started.wait();
  place.expect(code == train::kStoppedExit,
               "exit code 75, got " + std::to_string(code));
  if (code == train::kStoppedExit)
    counts.steps +=
        Ended{code, started.out(), ""}.json().at("steps").get<int>();
  place.expect_nothing_left();
}

// ---- all of it

struct Tally {
  int passed = 0, failed = 0;
  Tell tell() {
    return [this](const std::string& scene, const std::string& problem) {
      ++(problem.empty() ? passed : failed);
      if (!problem.empty())
        std::printf("FAILED %s: %s\n", scene.c_str(), problem.c_str());
    };
  }
};

void strike_rounds(const CommandStage& stage, double seconds,
                   std::mt19937_64& seeds, Counts& counts, Tally& tally) {
  const std::int64_t begin = now_ns();
  while (seconds_since(begin) < seconds) {
    std::vector<Scene> scenes;
    for (int i = 0; i < 2; ++i) {
      const std::uint64_t seed = seeds();
      scenes.push_back({.name = "round of seed " + std::to_string(seed),
                        .play = [&stage, &counts, seed](const Place& place) {
                          Round(stage, place, counts, seed).run();
                        }});
    }
    play(scenes, 2, tally.tell());
  }
}

void live(const CommandStage& stage, double seconds, Counts& counts,
          Tally& tally) {
  std::vector<Scene> scenes;
  for (const Kind kind : {Kind::kProcesses, Kind::kThreads})
    scenes.push_back(
        {.name = kind == Kind::kThreads ? "long life of threads"
                                        : "long life of processes",
         .play = [&stage, &counts, kind, seconds](const Place& place) {
           live_long(stage, place, kind, seconds, counts);
         }});
  play(scenes, 2, tally.tell());
}

int run(double minutes, std::uint64_t seed) {
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  const CommandStage stage(kSteps);
  Shared<Counts> counts;
  Tally tally;
  std::mt19937_64 seeds(seed);
  strike_rounds(stage, 60 * minutes * kRoundsShare, seeds, *counts, tally);
  live(stage, 60 * minutes * (1 - kRoundsShare), *counts, tally);
  std::printf(
      "%d runs ended in %d starts, under %d kills of a rank, %d kills of all "
      "and %d terminations; %lld steps\n",
      counts->rounds.load(), counts->starts.load(), counts->rank_kills.load(),
      counts->whole_kills.load(), counts->terminations.load(),
      static_cast<long long>(counts->steps.load()));
  std::printf("%d passed, %d failed\n", tally.passed, tally.failed);
  return tally.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace quire::failures

int main(int argc, char** argv) {
  return quire::test::run_check([&] {
    const double minutes = argc > 1 ? std::atof(argv[1]) : 60;
    if (!(minutes > 0) || minutes > 10000)
      throw std::runtime_error("expected a number of minutes");
    const std::uint64_t seed =
        argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device()();
    return quire::failures::run(minutes, seed);
  });
}
