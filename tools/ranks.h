// The ranks of a subcommand: as many as -n says, started here, or this process
// as one rank of a launcher's world.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quire/comm/communicator.h"
#include "quire/comm/launch.h"
#include "tools/output.h"

namespace quire::tools {

inline constexpr int kMostLocalRanks = 256;

struct RankFlags {
  std::optional<int> ranks;
  std::optional<std::string> kind;  // "processes", "threads"
  comm::LaunchFlags launch;
};
// -n, --ranks, and a launcher's --rank, --world-size and --run-id.
void add_rank_flags(CLI::App& app, RankFlags& flags);
// --timeout-s, where no configuration says comm.timeout_s.
void add_timeout_option(CLI::App& app, double& timeout_s);

struct RankReport {
  Result result;
  int exit_code = 0;
};

// What one rank does; all ranks find the same. `local_ranks` share this host.
using RankWork = std::function<RankReport(comm::Communicator& communicator,
                                          int local_ranks)>;

struct RankJob {
  RankFlags flags;
  double timeout_s = 60.0;  // of one wait for peers
  RankWork work;
  // How to go on after a step in which a rank, a device or a disk failed, said
  // before the error, and after a run that was stopped, said last; unless it is
  // empty.
  std::function<std::string()> advice = {};
};

// Rank 0 tells of each on stderr.
void warn_of(const std::vector<std::string>& warnings,
             const comm::Communicator& communicator);

// Runs the job on all ranks, prints rank 0's result or the first failure, and
// returns the exit code. REQUIRES: one thread, since ranks are forked.
int run_ranks(const RankJob& job, const Output& output);

}  // namespace quire::tools
