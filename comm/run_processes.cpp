#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <thread>

#include "quire/comm/launcher/children.h"
#include "quire/comm/launcher/rank_main.h"

namespace quire::comm {
namespace {

std::ptrdiff_t count_threads() {
  std::error_code error;
  return std::distance(
      std::filesystem::directory_iterator("/proc/self/task", error), {});
}

// A thread that has been joined is listed until the kernel has taken it down,
// which on a busy machine lasts: who has just joined a pool is no fault.
void require_one_thread() {
#ifndef __SANITIZE_THREAD__  // its runtime has a thread of its own
  constexpr auto kPatience = std::chrono::seconds(1);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::ptrdiff_t threads = count_threads();
  while (threads > 1 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    threads = count_threads();
  }
  if (threads <= 1) return;
  throw UsageError(fmt::format(
      "got {} threads in the process that is to fork its ranks; expected 1: "
      "destroy pools and streams before, or run the ranks as threads",
      threads));
#endif
}

class ProcessRun {
 public:
  ProcessRun(int ranks, const LocalOptions& options, const RankMain& main)
      : world_(ranks, options), main_(main), codes_(ranks, 0) {
    grace_ =
        std::chrono::duration<double>(std::min(options.timeout_s, kMostGrace));
  }

  RunResult run() {
    for (int rank = 0; rank < world_.size(); ++rank) {
      children_.fork_one([&] { be(rank); });
    }
    while (children_.waiting()) wait_once();
    RunResult result = result_of(world_, codes_);
    // Ranks that end well when they are asked to say so by their own code.
    if (children_.passed_on() != 0 && result.failure) {
      result.exit_code = 128 + children_.passed_on();
    }
    return result;
  }

 private:
  // A rank's whole life.
  [[noreturn]] void be(int rank) {
    const int code = run_rank(world_, rank, main_);
    std::cout.flush();
    std::fflush(nullptr);
    _exit(code);
  }

  void wait_once() {
    constexpr auto kSlice = std::chrono::milliseconds(200);
    for (const Children::Ended& ended : children_.wait(kSlice)) take(ended);
    if (world_.failure()) children_.end_within(grace_);
  }

  void take(const Children::Ended& ended) {
    codes_[ended.rank] = ended.end.shell_code();
    if (world_.has_left(ended.rank) && ended.end.signal == 0) return;
    const std::string early =
        ended.end.signal == 0 ? " before the run ended" : "";
    world_.report_death(ended.rank, ended.end.to_string() + early, kSystemExit);
  }

  LocalWorld world_;
  const RankMain& main_;
  std::vector<int> codes_;
  std::chrono::duration<double> grace_;
  Children children_{Children::Signal::kChild};
};

}  // namespace

RunResult run_processes(int ranks, const LocalOptions& options,
                        const RankMain& main) {
  require_one_thread();
  return ProcessRun(ranks, options, main).run();
}

}  // namespace quire::comm
