// Starts the ranks of one host and waits for them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quire/comm/communicator.h"
#include "quire/comm/local.h"

namespace quire::comm {

// Seconds, at most, that ranks have to end by themselves after a failure.
inline constexpr double kMostGrace = 4.0;

// What a rank does; the result is its exit code (0: done). An exception ends
// the run: UsageError as exit code 2, any other as 3, with the communicator's
// location as the place.
using RankMain = std::function<int(Communicator&)>;

struct RunResult {
  // The first failure's, else the first non-zero result by rank, else 0.
  int exit_code = 0;
  std::optional<Failure> failure;  // the first one
};

// Ranks 0 ... ranks - 1 as threads of this process. Returns when all have
// ended; a thread that stalls cannot be removed: after the time-out its peers
// end and, at most kMostGrace later, the result names it; then the caller ends
// the process.
RunResult run_threads(int ranks, const LocalOptions& options,
                      const RankMain& main);

// Ranks as direct children, forked in rank order. REQUIRES: this process has
// one thread. Children end by _exit after flushing stdio. A dead child is
// located and reported within a second; then the others are given the
// time-out, at most kMostGrace, to end by themselves, then SIGKILLed: none is
// left. SIGTERM and SIGINT are passed on to the children as SIGTERM, a second
// one as SIGKILL; a run that fails after one ends with 128 + its number.
// Children ignore SIGINT, which a terminal sends to all. A rank dies with this
// process (parent-death signal).
RunResult run_processes(int ranks, const LocalOptions& options,
                        const RankMain& main);

// `quire run`: forks and executes `command` once for every rank with the
// environment of launch.h set, output lines prefixed "[rank0] " if prefix.
// exit_code is the first failed process's (128 + signal if killed). SIGTERM and
// SIGINT are passed on as by run_processes: the ranks may take their time, to
// save for instance, until a second one kills them.
struct CommandOptions {
  int ranks;
  std::vector<std::string> command;
  bool prefix = true;
  double grace_s = kMostGrace;  // between SIGTERM to the survivors and SIGKILL
};
RunResult run_command(const CommandOptions& options);

}  // namespace quire::comm
