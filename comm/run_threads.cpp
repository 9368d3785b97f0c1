#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "quire/comm/launcher/rank_main.h"

namespace quire::comm {
namespace {

// Kept by every thread: one that stalls outlives run_threads.
struct ThreadRun {
  ThreadRun(int ranks, const LocalOptions& options, RankMain main)
      : world(ranks, options),
        main(std::move(main)),
        codes(ranks, 0),
        over(ranks, false) {}

  LocalWorld world;
  RankMain main;
  std::mutex mutex;
  std::condition_variable ended_one;
  std::vector<int> codes;
  std::vector<bool> over;
  int ended = 0;
  bool failed = false;

  void run(int rank) {
    const int code = run_rank(world, rank, main);
    const std::lock_guard lock(mutex);
    codes[rank] = code;
    over[rank] = true;
    ++ended;
    failed = failed || world.failure().has_value();
    ended_one.notify_all();
  }

  // The rank that failed still runs: it stalls.
  bool culprit_runs() const {
    const auto failure = world.failure();
    return failure && failure->rank >= 0 && !over[failure->rank];
  }

  // True once all have ended; false if one has not a while after a failure, or
  // the one that stalls a little while.
  bool wait(int started, double grace_s) {
    const auto within = [](double s) {
      return std::chrono::duration<double>(s);
    };
    std::unique_lock lock(mutex);
    const auto all = [&] { return ended == started; };
    ended_one.wait(lock, [&] { return all() || failed; });
    const auto told = [&] { return all() || !culprit_runs(); };
    return ended_one.wait_for(lock, within(std::min(grace_s, kMostGrace)),
                              told) &&
           ended_one.wait_for(lock, within(grace_s), all);
  }
};

std::vector<std::thread> start(const std::shared_ptr<ThreadRun>& run,
                               int ranks) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    try {
      threads.emplace_back([run, rank] { run->run(rank); });
    } catch (const std::system_error& error) {
      run->world.report_death(
          rank, std::string("its thread cannot be started: ") + error.what(),
          kSystemExit);
      const std::lock_guard lock(run->mutex);
      run->over[rank] = true;
      break;
    }
  }
  return threads;
}

}  // namespace

RunResult run_threads(int ranks, const LocalOptions& options,
                      const RankMain& main) {
  const auto run = std::make_shared<ThreadRun>(ranks, options, main);
  std::vector<std::thread> threads = start(run, ranks);
  const bool all =
      run->wait(static_cast<int>(threads.size()), options.timeout_s);
  for (std::thread& thread : threads) {
    all ? thread.join() : thread.detach();
  }
  const std::lock_guard lock(run->mutex);
  return result_of(run->world, run->codes);
}

}  // namespace quire::comm
