// Whatever ends a rank ends all of them, and the first failure is named.
#include "quire/comm/failure.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/tensors.h"
#include "tests/support/world.h"

namespace quire::comm {
namespace {

using namespace quire::testing;

// Rank `bad` of a step does `harm`; the others wait for it in a barrier.
RankMain harmed(int bad, std::function<void(Communicator&)> harm) {
  return [=](Communicator& comm) {
    Streams streams;
    comm.barrier({.stream = &streams.communication});
    streams.communication.synchronize();
    comm.locate({.step = 17, .phase = "forward", .layer = "h.1"});
    if (comm.rank() == bad) harm(comm);
    comm.barrier({.stream = &streams.communication, .unit = "h.1"});
    streams.communication.synchronize();
    return 0;
  };
}

void expect_failure(const RunResult& result, int rank, std::string message) {
  ASSERT_TRUE(result.failure.has_value());
  EXPECT_EQ(result.failure->rank, rank);
  expect_mentions(result.failure->to_string(), {message});
}

void expect_place(const RunResult& result) {
  ASSERT_TRUE(result.failure.has_value());
  EXPECT_EQ(result.failure->step, 17);
  EXPECT_EQ(result.failure->phase, "forward");
  EXPECT_EQ(result.failure->layer, "h.1");
}

int open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<int>(std::distance(begin(all), end(all)));
}

// Of memfds too, which have no other name.
int mappings() {
  std::ifstream file("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(file, line);) {
    count += line.find("memfd:quire") != std::string::npos;
  }
  return count;
}

class Failures : public ::testing::TestWithParam<World> {
 protected:
  void SetUp() override { descriptors_ = open_descriptors(); }
  // No child, no descriptor, no memory is left.
  void TearDown() override {
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
    EXPECT_EQ(open_descriptors(), descriptors_);
    EXPECT_EQ(mappings(), 0);
  }

 private:
  int descriptors_ = 0;
};

class ProcessFailures : public Failures {};

INSTANTIATE_TEST_SUITE_P(Run, Failures,
                         ::testing::Values(World{2, false, true},
                                           World{4, false, false},
                                           World{2, true, false},
                                           World{4, true, true}),
                         [](const auto& info) { return name_of(info.param); });
INSTANTIATE_TEST_SUITE_P(Run, ProcessFailures,
                         ::testing::Values(World{2, true, true},
                                           World{4, true, false}),
                         [](const auto& info) { return name_of(info.param); });

TEST_P(Failures, AnExceptionIsNamedWithItsPlace) {
  const auto result = GetParam().run(
      harmed(1, [](Communicator&) { throw SystemError("the disk is full"); }));
  EXPECT_EQ(result.exit_code, 3);
  expect_failure(result, 1,
                 "rank 1: step 17: layer h.1 (forward): the disk is full");
}

TEST_P(Failures, AUsageErrorEndsWithExitCodeTwo) {
  const auto result = GetParam().run(
      harmed(0, [](Communicator&) { throw UsageError("no such key"); }));
  EXPECT_EQ(result.exit_code, 2);
  expect_failure(result, 0, "no such key");
}

TEST_P(Failures, ARankThatLeavesWhileOthersWaitIsNamed) {
  const auto result = GetParam().run([](Communicator& comm) {
    Streams streams;
    if (comm.rank() == 1) return 0;
    comm.barrier({.stream = &streams.compute, .unit = "h.2"});
    return 0;
  });
  EXPECT_EQ(result.exit_code, 3);
  expect_failure(result, 1, "left the run while rank");
}

TEST_P(Failures, AStallEndsAfterTheTimeOutAndShowsTheRecord) {
  World world = GetParam();
  world.timeout_s = 0.4;
  const auto end = std::make_shared<std::atomic<bool>>(false);
  const auto result = world.run(harmed(1, [end](Communicator&) {
    while (!*end) std::this_thread::yield();
    throw SystemError("ended by the test");
  }));
  *end = true;
  EXPECT_EQ(result.exit_code, 3);
  expect_failure(result, 1, "did not arrive within 0.4 s");
  expect_place(result);
  expect_mentions(
      result.failure->message,
      {"rank 1 (step 17, phase forward, layer h.1)", "barrier of h.1"});
  expect_mentions(result.failure->detail,
                  {"the newest collectives of rank", "control h.1 on main"});
  while (!world.processes && mappings() != 0) std::this_thread::yield();
}

TEST_P(Failures, DifferentCallsAreRefusedByAllWithBoth) {
  const auto result = GetParam().run(harmed(1, [](Communicator& comm) {
    Streams streams;
    const Tensor row = streams.allocator.zeros(
        DType::kU8, Shape{8 * comm.size()}, Category::kGathered);
    comm.all_gather(row, {.stream = &streams.compute,
                          .purpose = Purpose::kGather,
                          .unit = "h.2"});
  }));
  EXPECT_EQ(result.exit_code, 2);
  expect_failure(result, 1, "rank 1 calls all_gather of h.2 (gather)");
  expect_failure(result, 1, "rank 0 calls barrier of h.1 (control)");
}

TEST_P(Failures, DifferentSizesAreRefused) {
  const auto result = GetParam().run([](Communicator& comm) {
    Streams streams;
    const std::int64_t slice = comm.rank() == 1 ? 4 : 8;
    const Tensor row = streams.allocator.zeros(
        DType::kU8, Shape{slice * comm.size()}, Category::kGathered);
    comm.all_gather(row, {.stream = &streams.compute});
    return 0;
  });
  EXPECT_EQ(result.exit_code, 2);
  expect_failure(result, 1, "the ranks disagree");
}

TEST_P(Failures, AnUnexpectedNumberOfRowsIsRefused) {
  const auto result = GetParam().run([](Communicator& comm) {
    Streams streams;
    const Tensor row = streams.allocator.zeros(DType::kU8, Shape{comm.size()},
                                               Category::kGradients);
    comm.all_to_all(std::vector{row}, {}, {.stream = &streams.compute});
    return 0;
  });
  EXPECT_EQ(result.exit_code, 2);
  ASSERT_TRUE(result.failure.has_value());
  expect_mentions(result.failure->message,
                  {"sends 1 rows, 1 bytes", "expects 0 rows"});
}

TEST_P(Failures, AnAbortReachesEveryChannelAndEveryLaterCall) {
  const auto result = GetParam().run([](Communicator& comm) {
    Streams streams;
    const auto other = comm.split("other");
    if (comm.rank() == 1) {
      comm.abort({.rank = 1, .step = 3, .phase = "save", .message = "stop"});
    }
    for (Communicator* each : {other.get(), &comm}) {
      try {
        each->barrier({.stream = &streams.compute});
        throw UsageError("the barrier was passed");
      } catch (const PeerError& error) {
        require(error.failure().message == "stop", "the first failure");
      }
    }
    return 0;
  });
  EXPECT_EQ(result.exit_code, 3);
  expect_failure(result, 1, "rank 1: step 3: save: stop");
}

TEST_P(Failures, TheFirstResultThatIsNotZeroIsTheExitCode) {
  const auto result = GetParam().run([](Communicator& comm) {
    return comm.rank() == 0 ? 0 : 3 + comm.rank();
  });
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_FALSE(result.failure.has_value());
}

TEST_P(ProcessFailures, AKilledRankIsLocated) {
  const auto result =
      GetParam().run(harmed(1, [](Communicator&) { raise(SIGKILL); }));
  EXPECT_EQ(result.exit_code, 3);
  expect_failure(
      result, 1,
      "rank 1: step 17: layer h.1 (forward): killed by signal 9 (SIGKILL)");
}

TEST_P(ProcessFailures, ARankThatExitsEarlyIsLocated) {
  const auto result =
      GetParam().run(harmed(1, [](Communicator&) { _exit(0); }));
  EXPECT_EQ(result.exit_code, 3);
  expect_failure(result, 1, "exited with code 0 before the run ended");
  expect_place(result);
}

TEST_P(ProcessFailures, ARankThatDiesBeforeItJoinsEndsTheRun) {
  // Children that kill themselves in place of joining.
  LocalWorld world(2, {.timeout_s = 20, .mapped = true});
  const pid_t child = fork();
  if (child == 0) {
    try {
      world.join(0);
    } catch (const PeerError& error) {
      _exit(error.failure().rank == 1 ? 7 : 1);
    }
    _exit(2);
  }
  world.report_death(1, "killed by signal 9 (SIGKILL)", 3);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_P(ProcessFailures, ADeathIsSeenWithoutALauncher) {
  LocalWorld world(2, {.timeout_s = 20, .mapped = true});
  const pid_t child = fork();
  if (child == 0) {
    const auto comm = world.join(1);
    comm->locate({.step = 5, .phase = "load"});
    raise(SIGKILL);
  }
  {
    Streams streams;
    const auto comm = world.join(0);
    EXPECT_THROW(comm->barrier({.stream = &streams.compute}), PeerError);
  }
  const auto failure = world.failure();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->rank, 1);
  EXPECT_EQ(failure->step, 5);
  EXPECT_EQ(failure->phase, "load");
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

TEST_P(ProcessFailures, ATerminatedLauncherTakesItsRanksAlong) {
  const pid_t launcher = getpid();
  const auto result = GetParam().run([launcher](Communicator& comm) {
    if (comm.rank() == 0) kill(launcher, SIGTERM);
    for (;;) pause();
    return 0;
  });
  EXPECT_EQ(result.exit_code, 128 + SIGTERM);
}

// The ranks hold the writing end of a pipe: it ends with the last of them.
TEST_P(ProcessFailures, RanksDieWithTheirLauncher) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t launcher = fork();
  if (launcher == 0) {
    GetParam().run([&](Communicator&) {
      const bool written = write(pipe_ends[1], "x", 1) == 1;
      while (written) pause();
      return 0;
    });
    _exit(0);
  }
  close(pipe_ends[1]);
  char byte = 0;
  EXPECT_EQ(read(pipe_ends[0], &byte, 1), 1);
  kill(launcher, SIGKILL);
  while (read(pipe_ends[0], &byte, 1) > 0) continue;
  close(pipe_ends[0]);
  EXPECT_EQ(waitpid(launcher, nullptr, 0), launcher);
}

// The sanitizer of threads has one of its own, so it cannot be asked.
#ifndef __SANITIZE_THREAD__
TEST(RunProcesses, RefusesToForkAProcessWithThreads) {
  const ThreadPool pool(2);
  try {
    World{2, true, true}.run([](Communicator&) { return 0; });
    ADD_FAILURE() << "two threads were forked";
  } catch (const UsageError& error) {
    expect_mentions(error.what(), {"got 2 threads", "expected 1"});
  }
}
#endif

TEST(RunProcesses, WaitsForAThreadThatIsEnding) {
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }).detach();
  expect_success(World{2, true, true}.run([](Communicator&) { return 0; }));
}

TEST(Failure, SaysRankStepAndLayer) {
  Failure failure{.rank = 2, .step = 17, .layer = "h.1", .message = "gone"};
  EXPECT_EQ(failure.to_string(), "rank 2: step 17: layer h.1: gone");
  failure.phase = "forward";
  EXPECT_EQ(failure.to_string(), "rank 2: step 17: layer h.1 (forward): gone");
  failure = {.rank = 0, .step = -1, .message = "gone"};
  EXPECT_EQ(failure.to_string(), "rank 0: gone");
}

TEST(Failure, SaysWhichFileWasSavedOrLoaded) {
  Failure failure{.rank = 1, .step = 4, .phase = "save", .message = "gone"};
  EXPECT_EQ(failure.to_string(), "rank 1: step 4: save: gone");
  failure.layer = "shard-00001-of-00003.safetensors";
  EXPECT_EQ(failure.to_string(),
            "rank 1: step 4: save of shard-00001-of-00003.safetensors: gone");
}

TEST(LocalWorld, RefusesSizesAndRanksThatDoNotExist) {
  EXPECT_THROW(LocalWorld(0, {}), UsageError);
  EXPECT_THROW(LocalWorld(257, {}), UsageError);
  LocalWorld world(1, {});
  EXPECT_THROW(world.join(1), UsageError);
  const auto comm = world.join(0);
  EXPECT_THROW(world.join(0), UsageError);
}

TEST(LocalWorld, RefusesAddressesOfNoWorld) {
  EXPECT_THROW(LocalWorld::open("nonsense"), UsageError);
  EXPECT_THROW(LocalWorld::open("local:1:1:1"), SystemError);
  std::string address = LocalWorld(2, {}).address();
  EXPECT_THROW(LocalWorld::open(address), SystemError);
}

TEST(LocalWorld, HoldsTwoHundredAndFiftySixRanks) {
  expect_success(run_threads(256, {}, [](Communicator& comm) {
    Streams streams;
    const Tensor row = streams.allocator.zeros(
        DType::kU8, Shape{3 * comm.size()}, Category::kGathered);
    comm.all_gather(row, {.stream = &streams.compute});
    return 0;
  }));
}

}  // namespace
}  // namespace quire::comm
