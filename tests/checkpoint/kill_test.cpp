// Savers that fail or are killed at every operation on the disk.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <filesystem>

#include "quire/checkpoint/run_folder.h"
#include "quire/checkpoint/verify.h"
#include "tests/checkpoint/checkpoint_language.h"

namespace quire::checkpoint {
namespace {

using namespace checkpoint::testing;

const Model kOld{{{300, 3}}};
const Model kNew{{{300, 3}}, {{"exp_avg", 4.0f}, {"master", 5.0f}}};

// Tells when operation number `at` of a rank is about to happen.
FileObserver at_operation(int at, std::function<void(const std::string&)> act) {
  const auto count = std::make_shared<int>(0);  // observers are copied
  return [=](std::string_view operation, const std::string& path) {
    if ((*count)++ == at) act(std::string(operation) + " " + path);
  };
}

// How a child ended that does `work`; one that throws ends with 9.
int status_of_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      ::_exit(work());
    } catch (...) {
      ::_exit(9);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}
bool was_killed(int status) {
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

// Saves step 2 in a child that dies at operation `at`. True if it was killed.
bool save_and_die(const std::string& folder, std::int64_t step, int at) {
  return was_killed(status_of_child([&] {
    run_world(1, [&](auto& communicator, Stream& stream) {
      auto request = request_of(kNew, {.step = step});
      request.observer =
          at_operation(at, [](const std::string&) { ::raise(SIGKILL); });
      save(folder, request, communicator, stream);
    });
    return 0;
  }));
}

// Kills a save at every operation; what can be opened is the old step whole or
// the new one whole, and the next save goes through and leaves nothing else.
void expect_survives_kills(std::int64_t new_step) {
  int at = 0;
  for (bool killed = true; killed; ++at) {
    const TempFolder run;
    save_world(run.path(), kOld, {.step = 1}, 1);
    killed = save_and_die(run.path(), new_step, at);
    {
      const auto checkpoint = Checkpoint::open(run.path());
      EXPECT_TRUE(checkpoint.skipped().empty());
      const bool fresh =
          checkpoint.manifest().find("p0")->find("exp_avg_sq") == nullptr;
      expect_loads(checkpoint, fresh ? kNew : kOld);
      EXPECT_TRUE(verify(run.path()).empty()) << at;
      EXPECT_TRUE(killed || fresh);
    }
    save_world(run.path(), kNew, {.step = new_step}, 2);
    EXPECT_EQ(run.names().size(), new_step == 1 ? 1u : 2u) << at;
    expect_loads(Checkpoint::open(run.path()), kNew);
  }
  EXPECT_GT(at, 10);
}

TEST(Kill, ASaveKilledAtAnyOperationLeavesTheOldStepOrTheNewOne) {
  expect_survives_kills(2);
}

TEST(Kill, ASaveThatReplacesAStepLeavesTheOldOneOrTheNewOne) {
  expect_survives_kills(1);
}

TEST(Kill, APruneKilledAtAnyOperationLeavesNoHalfStep) {
  for (int at = 0;; ++at) {
    const TempFolder run;
    for (const std::int64_t step : {1, 2})
      save_world(run.path(), kOld, {.step = step}, 1);
    const int status = status_of_child([&] {
      prune(run.path(), {.newest = 1},
            at_operation(at, [](const std::string&) { ::raise(SIGKILL); }));
      return 0;
    });
    for (const auto& step : list_steps(run.path())) EXPECT_EQ(step.problem, "");
    prune(run.path(), {.newest = 1});
    EXPECT_EQ(list_steps(run.path()).size(), 1u);
    if (!was_killed(status)) break;
  }
}

TEST(Kill, OfOneRankOfManyIsNamedAndLeavesTheOldStep) {
  const TempFolder run;
  save_world(run.path(), kOld, {.step = 1}, 1);
  const auto result = comm::run_processes(
      3, {.timeout_s = 20.0}, [&](comm::Communicator& communicator) {
        Cpu cpu;
        const int rank = communicator.rank();
        auto request = request_of(kSmall, {.step = 2}, rank, 3);
        if (rank == 1)
          request.observer =
              at_operation(3, [](const std::string&) { ::raise(SIGKILL); });
        save(run.path(), request, communicator, cpu.stream);
        return 0;
      });
  ASSERT_TRUE(result.failure.has_value());
  expect_mentions(result.failure->to_string(), {"rank 1", "SIGKILL", "save"});
  expect_loads(Checkpoint::open(run.path()), kOld);
  save_world(run.path(), kNew, {.step = 2}, 2);
  EXPECT_EQ(run.names(),
            (std::vector<std::string>{"step-00000001", "step-00000002"}));
}

// What the ranks throw when `bad` cannot do its operation number `at`.
std::vector<std::string> errors_when(const std::string& folder, int bad,
                                     int at) {
  return run_world(3, [&](auto& communicator, Stream& stream) {
    const int rank = communicator.rank();
    auto request = request_of(kSmall, {.step = 2}, rank, 3);
    if (rank == bad)
      request.observer = at_operation(at, [](const std::string& what) {
        throw SystemError(what + ": No space left on device");
      });
    save(folder, request, communicator, stream);
  });
}

TEST(Failure, OfOneRankIsThrownByAllAndNothingIsPublished) {
  const TempFolder run;
  save_world(run.path(), kOld, {.step = 1}, 1);
  for (const int bad : {1, 2})
    for (const int at : {0, 1, 3}) {
      for (const auto& error : errors_when(run.path(), bad, at))
        expect_mentions(error, {"rank " + std::to_string(bad),
                                "No space left on device", "shard-0000"});
      EXPECT_EQ(run.names(), std::vector<std::string>{"step-00000001"});
    }
}

TEST(Failure, AtAnyOperationOfRankZeroLeavesAWholeStep) {
  const TempFolder run;
  save_world(run.path(), kOld, {.step = 1}, 1);
  for (int at = 0;; ++at) {
    const auto errors = errors_when(run.path(), 0, at);
    for (const auto& name : run.names())
      EXPECT_EQ(name[0], 's') << at << errors[0];
    for (const auto& step : list_steps(run.path())) EXPECT_EQ(step.problem, "");
    EXPECT_EQ(errors[0], errors[1]);
    EXPECT_EQ(errors[0], errors[2]);
    if (errors[0].empty()) break;
    std::filesystem::remove_all(run / "step-00000002");
  }
  EXPECT_EQ(run.names().size(), 2u);
}

TEST(Failure, OfARealDiskIsNamed) {
  const TempFolder run;
  const int status = status_of_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const auto errors = run_world(1, [&](auto& communicator, Stream& stream) {
      const rlimit limit{.rlim_cur = 2000, .rlim_max = 2000};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      save(run.path(), request_of(kSmall, {.step = 2}), communicator, stream);
    });
    return errors[0].find(
               "shard-00000-of-00001.safetensors cannot be "
               "written: File too large") != std::string::npos
               ? 0
               : 1;
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(run.names().empty());
}

}  // namespace
}  // namespace quire::checkpoint
