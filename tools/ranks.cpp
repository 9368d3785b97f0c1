#include "tools/ranks.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "quire/comm/run.h"
#include "quire/core/error.h"
#include "quire/train/run.h"
#include "tools/result_file.h"

namespace quire::tools {
namespace {

// What all ranks take for the cause: of several that fail, the first.
comm::Failure first_failure(comm::Communicator& communicator,
                            const comm::Failure& mine) {
  communicator.abort(mine);
  ThreadPool pool(1);
  Allocator scratch({});
  Stream stream(Stream::Kind::kInline, "failure", pool, scratch);
  try {
    communicator.barrier({.stream = &stream});
  } catch (const comm::PeerError& error) {
    return error.failure();
  }
  return mine;
}

// A diverged run ends by an exit code that run_threads and run_processes do not
// know.
RankReport work_of(const RankJob& job, comm::Communicator& communicator,
                   int local_ranks) {
  try {
    return job.work(communicator, local_ranks);
  } catch (const train::Diverged& error) {
    const comm::Failure failure =
        failure_at(communicator, error.what(), train::kDivergedExit);
    throw comm::PeerError(first_failure(communicator, failure));
  }
}

comm::Failure advised(const RankJob& job, comm::Failure failure) {
  const bool may_help = failure.exit_code == comm::kSystemExit &&
                        failure.step > 0 && failure.phase != "load";
  const std::string advice = may_help && job.advice ? job.advice() : "";
  if (!failure.detail.empty() && !advice.empty()) failure.detail += '\n';
  failure.detail += advice;
  return failure;
}

void tell_result(const RankJob& job, const RankReport& report,
                 const Output& output) {
  output.result(report.result);
  if (report.exit_code != train::kStoppedExit || !job.advice) return;
  if (const std::string advice = job.advice(); !advice.empty()) tell(advice);
}

int finish(const RankJob& job, const comm::RunResult& run, const Result& result,
           const Output& output) {
  if (run.failure) {
    comm::Failure failure = *run.failure;
    failure.exit_code = run.exit_code;
    return output.failure(advised(job, failure));
  }
  tell_result(job, {.result = result, .exit_code = run.exit_code}, output);
  return run.exit_code;
}

int run_as_processes(int ranks, const RankJob& job, const Output& output) {
  const ResultFile file;
  const auto main = [&](comm::Communicator& communicator) {
    const RankReport report = work_of(job, communicator, ranks);
    if (communicator.rank() == 0) file.write(report.result);
    return report.exit_code;
  };
  const comm::RunResult run =
      comm::run_processes(ranks, {.timeout_s = job.timeout_s}, main);
  return finish(job, run, file.read(), output);
}

int run_as_threads(int ranks, const RankJob& job, const Output& output) {
  Result result;
  const auto main = [&](comm::Communicator& communicator) {
    RankReport report = work_of(job, communicator, ranks);
    if (communicator.rank() == 0) result = std::move(report.result);
    return report.exit_code;
  };
  const comm::RunResult run =
      comm::run_threads(ranks, {.timeout_s = job.timeout_s}, main);
  const int exit_code = finish(job, run, result, output);
  if (!run.failure) return exit_code;
  // A rank that stalls is still a thread of this process and may use anything.
  std::cout.flush();
  std::_Exit(exit_code);
}

// The first failure is printed by the rank that failed, and by another if it
// may be dead: not of what was wrong in what it was given, or in the run.
bool is_ours_to_print(const comm::Failure& failure, int rank) {
  if (rank == failure.rank) return true;
  return failure.exit_code == comm::kSystemExit &&
         rank == (failure.rank == 0 ? 1 : 0);
}

// A launcher ends all ranks when one has ended, the one that prints among them:
// the others leave it the time to.
int end_in_world(const RankJob& job, const comm::Failure& failure, int rank,
                 const Output& output) {
  constexpr std::chrono::milliseconds kToPrint(200);
  if (is_ours_to_print(failure, rank))
    return output.failure(advised(job, failure));
  std::this_thread::sleep_for(kToPrint);
  return failure.exit_code;
}

int fail_in_world(const RankJob& job, comm::Communicator& communicator,
                  const comm::Failure& mine, const Output& output) {
  return end_in_world(job, first_failure(communicator, mine),
                      communicator.rank(), output);
}

// This process is one rank.
int run_in_world(const comm::Launch& launch, const RankJob& job,
                 const Output& output) {
  const auto communicator = comm::join(launch, {.timeout_s = job.timeout_s});
  try {
    const RankReport report = work_of(job, *communicator, launch.local_size);
    if (launch.rank == 0) tell_result(job, report, output);
    return report.exit_code;
  } catch (const comm::PeerError& error) {
    return end_in_world(job, error.failure(), launch.rank, output);
  } catch (const UsageError& error) {
    return fail_in_world(
        job, *communicator,
        failure_at(*communicator, error.what(), comm::kUsageExit), output);
  } catch (const std::exception& error) {
    return fail_in_world(
        job, *communicator,
        failure_at(*communicator, error.what(), comm::kSystemExit), output);
  }
}

std::string refusal_of_timeout(const std::string& text) {
  double seconds = 0.0;
  const bool number = CLI::detail::lexical_cast(text, seconds);
  if (number && seconds > 0 && seconds <= 1e6) return {};
  return fmt::format("{} is no number above 0, of at most 1e6", text);
}

void require_world(const comm::Launch& launch, const RankFlags& flags) {
  if (flags.ranks && *flags.ranks != launch.size) {
    throw UsageError(fmt::format(
        "-n is {}, but this process is rank {} of a launcher's world of {}; "
        "expected the same number: leave -n out",
        *flags.ranks, launch.rank, launch.size));
  }
  if (flags.kind && *flags.kind != "processes") {
    throw UsageError(fmt::format(
        "--ranks is {}, but this process is rank {} of a launcher's world; "
        "expected processes: leave --ranks out",
        *flags.kind, launch.rank));
  }
}

}  // namespace

void add_rank_flags(CLI::App& app, RankFlags& flags) {
  app.add_option("-n", flags.ranks, "ranks to start here; 1 by default")
      ->check(CLI::Range(1, kMostLocalRanks));
  app.add_option("--ranks", flags.kind,
                 "processes (the default) or threads of one process")
      ->check(CLI::IsMember({"processes", "threads"}));
  const char* group = "In a launcher's world, if its environment does not say";
  app.add_option("--rank", flags.launch.rank, "which one this process is")
      ->group(group);
  app.add_option("--world-size", flags.launch.size, "number of ranks")
      ->group(group);
  app.add_option("--run-id", flags.launch.run_id,
                 "a name that the ranks of this start share")
      ->group(group);
}

void add_timeout_option(CLI::App& app, double& timeout_s) {
  app.add_option("--timeout-s", timeout_s,
                 "seconds that a rank waits for its peers; 60 by default")
      ->check(refusal_of_timeout);
}

void warn_of(const std::vector<std::string>& warnings,
             const comm::Communicator& communicator) {
  if (communicator.rank() != 0) return;
  for (const std::string& line : warnings) warn(line);
}

int run_ranks(const RankJob& job, const Output& output) {
  const comm::Launch launch =
      comm::detect_launch(comm::process_environment(), job.flags.launch);
  if (launch.by != comm::Launch::By::kNone) {
    require_world(launch, job.flags);
    return run_in_world(launch, job, output);
  }
  const int ranks = job.flags.ranks.value_or(1);
  return job.flags.kind == "threads" ? run_as_threads(ranks, job, output)
                                     : run_as_processes(ranks, job, output);
}

}  // namespace quire::tools
