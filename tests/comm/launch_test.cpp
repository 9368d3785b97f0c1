// Environments as their launchers set them.
#include "quire/comm/launch.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <thread>

#include "quire/comm/store.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tensors.h"
#include "tests/support/world.h"

namespace quire::comm {
namespace {

using namespace quire::testing;
using Variables = std::map<std::string, std::string>;

Environment environment_of(const Variables& variables) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

Launch detect(const Variables& variables, const LaunchFlags& flags = {}) {
  return detect_launch(environment_of(variables), flags);
}

Variables with(Variables variables, const Variables& changes) {
  for (const auto& [name, value] : changes) variables[name] = value;
  return variables;
}

// torchrun --nnodes=2 --nproc-per-node=2, the last rank.
const Variables kTorchrun = {{"RANK", "3"},
                             {"WORLD_SIZE", "4"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "2"},
                             {"GROUP_RANK", "1"},
                             {"GROUP_WORLD_SIZE", "2"},
                             {"ROLE_RANK", "3"},
                             {"ROLE_NAME", "default"},
                             {"MASTER_ADDR", "10.0.0.1"},
                             {"MASTER_PORT", "29500"},
                             {"OMP_NUM_THREADS", "1"},
                             {"TORCHELASTIC_RESTART_COUNT", "0"},
                             {"TORCHELASTIC_RUN_ID", "b7e1"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "True"}};

// mpirun -n 2 of Open MPI 4.1.
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                            {"OMPI_COMM_WORLD_NODE_RANK", "1"},
                            {"OMPI_UNIVERSE_SIZE", "2"},
                            {"OMPI_MCA_ess_base_jobid", "2431778817"},
                            {"PMIX_NAMESPACE", "2431778817"},
                            {"PMIX_RANK", "1"}};

// srun -N 2 --ntasks=5, rank 4.
const Variables kSlurmStep = {
    {"SLURM_JOB_ID", "812"},       {"SLURM_STEP_ID", "0"},
    {"SLURM_PROCID", "4"},         {"SLURM_LOCALID", "1"},
    {"SLURM_NODEID", "1"},         {"SLURM_NTASKS", "5"},
    {"SLURM_STEP_NUM_TASKS", "5"}, {"SLURM_STEP_TASKS_PER_NODE", "3,2"},
    {"SLURM_NNODES", "2"}};

// sbatch --ntasks=8: one process.
const Variables kSlurmBatch = {
    {"SLURM_JOB_ID", "812"}, {"SLURM_PROCID", "0"},
    {"SLURM_LOCALID", "0"},  {"SLURM_NODEID", "0"},
    {"SLURM_NTASKS", "8"},   {"SLURM_TASKS_PER_NODE", "8"}};

TEST(Launch, WithoutALauncherIsOneRank) {
  const Launch launch = detect({{"PATH", "/bin"}});
  EXPECT_EQ(launch.by, Launch::By::kNone);
  EXPECT_EQ(launch.rank, 0);
  EXPECT_EQ(launch.size, 1);
}

TEST(Launch, ReadsTorchrun) {
  const Launch launch = detect(kTorchrun);
  EXPECT_EQ(launch.by, Launch::By::kTorchrun);
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_EQ(launch.local_size, 2);
  EXPECT_EQ(launch.node, 1);
}

TEST(Launch, ARestartIsAnotherRun) {
  const auto again = with(kTorchrun, {{"TORCHELASTIC_RESTART_COUNT", "1"}});
  EXPECT_NE(detect(kTorchrun).run_id, detect(again).run_id);
  const auto requeued = with(kSlurmStep, {{"SLURM_RESTART_COUNT", "1"}});
  EXPECT_NE(detect(kSlurmStep).run_id, detect(requeued).run_id);
}

TEST(Launch, ReadsOpenMpiWhoseNodeRankIsNoNode) {
  const Launch launch = detect(kOpenMpi);
  EXPECT_EQ(launch.by, Launch::By::kOpenMpi);
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.size, 2);
  EXPECT_EQ(launch.local_size, 2);
  EXPECT_EQ(launch.node, 0);
  EXPECT_FALSE(launch.run_id.empty());
}

TEST(Launch, ReadsASlurmStep) {
  const Launch launch = detect(kSlurmStep);
  EXPECT_EQ(launch.by, Launch::By::kSlurm);
  EXPECT_EQ(launch.rank, 4);
  EXPECT_EQ(launch.size, 5);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_EQ(launch.local_size, 2);
  EXPECT_EQ(launch.node, 1);
}

TEST(Launch, ReadsSlurmsRepeatedNodes) {
  const auto on_node = [&](const std::string& node) {
    return detect(with(kSlurmStep, {{"SLURM_NODEID", node},
                                    {"SLURM_PROCID", "0"},
                                    {"SLURM_LOCALID", "0"},
                                    {"SLURM_STEP_TASKS_PER_NODE", "1(x3),2"}}))
        .local_size;
  };
  EXPECT_EQ(on_node("2"), 1);
  EXPECT_EQ(on_node("3"), 2);
  EXPECT_THROW(on_node("4"), UsageError);
}

TEST(Launch, ASlurmBatchScriptIsNoWorld) {
  EXPECT_EQ(detect(kSlurmBatch).by, Launch::By::kNone);
  const auto named = with(kSlurmBatch, {{"SLURM_STEP_ID", "4294967291"}});
  EXPECT_EQ(detect(named).size, 1);
}

TEST(Launch, MpirunInsideASlurmAllocationWins) {
  const Launch launch = detect(with(kSlurmStep, kOpenMpi));
  EXPECT_EQ(launch.by, Launch::By::kOpenMpi);
  EXPECT_EQ(launch.rank, 1);
}

TEST(Launch, APodsIndexIsRefusedWithWhatToSet) {
  const Variables pod = {{"RANK", "1"},
                         {"WORLD_SIZE", "2"},
                         {"MASTER_ADDR", "job-master-0"},
                         {"PET_NNODES", "2"}};
  const std::string message = usage_error_of([&] { detect(pod); });
  expect_mentions(message, {"RANK=1", "WORLD_SIZE=2", "LOCAL_RANK", "torchrun",
                            "--world-size"});
  EXPECT_EQ(detect(pod, {.rank = 0, .size = 1, .run_id = {}}).size, 1);
}

TEST(Launch, HalfOfTorchrunsNamesAreRefused) {
  for (const char* name : {"RANK", "WORLD_SIZE"}) {
    const Variables half = {{name, "1"}};
    expect_mentions(usage_error_of([&] { detect(half); }),
                    {std::string("has ") + name + "=1", "LOCAL_RANK", "unset"});
    EXPECT_EQ(detect(with(half, kOpenMpi)).by, Launch::By::kOpenMpi);
  }
}

TEST(Launch, FlagsBeatEveryEnvironment) {
  const Launch launch = detect(with(kTorchrun, kOpenMpi),
                               {.rank = 0, .size = 7, .run_id = "mine"});
  EXPECT_EQ(launch.by, Launch::By::kFlags);
  EXPECT_EQ(launch.size, 7);
  EXPECT_EQ(launch.local_size, 7);
  EXPECT_EQ(launch.run_id, "mine");
}

TEST(Launch, HalfOrImpossibleFlagsAreRefused) {
  EXPECT_THROW(detect({}, {.rank = 1, .size = {}, .run_id = {}}), UsageError);
  EXPECT_THROW(detect({}, {.rank = 2, .size = 2, .run_id = {}}), UsageError);
  EXPECT_THROW(detect({}, {.rank = 0, .size = 0, .run_id = {}}), UsageError);
}

TEST(Launch, ContradictionsNameTheVariable) {
  const auto message = [&](const Variables& base, const std::string& name,
                           const std::string& value) {
    return usage_error_of([&] { detect(with(base, {{name, value}})); });
  };
  expect_mentions(message(kTorchrun, "RANK", "4"),
                  {"RANK", "\"4\"", "from 0 to 3"});
  expect_mentions(message(kTorchrun, "WORLD_SIZE", "0"), {"WORLD_SIZE"});
  expect_mentions(message(kTorchrun, "WORLD_SIZE", "4x"), {"\"4x\""});
  expect_mentions(message(kTorchrun, "LOCAL_RANK", "2"), {"LOCAL_RANK"});
  expect_mentions(message(kTorchrun, "LOCAL_WORLD_SIZE", "5"),
                  {"LOCAL_WORLD_SIZE", "from 1 to 4"});
  expect_mentions(message(kOpenMpi, "OMPI_COMM_WORLD_RANK", "-1"),
                  {"OMPI_COMM_WORLD_RANK"});
  expect_mentions(message(kSlurmStep, "SLURM_PROCID", "99999999999"),
                  {"SLURM_PROCID"});
  expect_mentions(message(kSlurmStep, "SLURM_STEP_TASKS_PER_NODE", "2(x"),
                  {"SLURM_STEP_TASKS_PER_NODE"});
}

// Ranks that meet in a folder of the test's own.
class Join : public ::testing::Test {
 protected:
  void SetUp() override { setenv("TMPDIR", folder_.path().c_str(), 1); }
  void TearDown() override { unsetenv("TMPDIR"); }

  static Launch launch(int rank, int size) {
    return {.by = Launch::By::kFlags,
            .rank = rank,
            .size = size,
            .local_rank = rank,
            .local_size = size,
            .node = 0,
            .run_id = "test"};
  }
  // The exit code of a child that joins as `rank` and meets the others.
  static pid_t fork_rank(int rank, int size) {
    const pid_t child = fork();
    if (child != 0) return child;
    try {
      meet(rank, size);
    } catch (const std::exception&) {
      _exit(1);
    }
    _exit(0);
  }
  static void meet(int rank, int size) {
    Streams streams;
    const auto comm = join(launch(rank, size), {.timeout_s = 20});
    const auto texts =
        gather_text(*comm, std::to_string(rank), {.stream = &streams.compute});
    require(texts.back() == std::to_string(size - 1), "the last rank");
  }
  static void expect_good_end(pid_t child) {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  bool has_address() const {
    const auto names = folder_.names();
    return !names.empty() &&
           std::filesystem::exists(folder_ / (names.at(0) + "/key-world"));
  }
  // The folder in which ranks meet.
  std::string meeting_folder() {
    const pid_t child = fork();
    if (child == 0) {  // a rank 0 that dies while it waits
      alarm(1);
      meet(0, 2);
    }
    while (!has_address()) std::this_thread::yield();
    kill(child, SIGKILL);
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
    return folder_ / folder_.names().at(0);
  }

  TempFolder folder_;
};

TEST_F(Join, RanksMeetAndLeaveNothing) {
  const pid_t first = fork_rank(1, 3), second = fork_rank(0, 3);
  meet(2, 3);
  expect_good_end(first);
  expect_good_end(second);
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(Join, WhatADeadRunLeftDoesNotDisturb) {
  meeting_folder();
  EXPECT_FALSE(folder_.names().empty());
  const pid_t child = fork_rank(1, 2);
  // So that it finds what is left, and not what rank 0 is about to write.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  meet(0, 2);
  expect_good_end(child);
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(Join, ARankThatNeverComesIsNamed) {
  try {
    join(launch(0, 2), {.timeout_s = 0.05});
    FAIL();
  } catch (const SystemError& error) {
    expect_mentions(error.what(), {"rank 1, which never joined"});
  }
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(Join, MoreThanOneHostIsRefused) {
  Launch two_hosts = launch(0, 4);
  two_hosts.local_size = 2;
  EXPECT_THROW(join(two_hosts, {}), UsageError);
  Launch nameless = launch(0, 2);
  nameless.run_id = "";
  EXPECT_THROW(join(nameless, {}), UsageError);
}

}  // namespace
}  // namespace quire::comm
