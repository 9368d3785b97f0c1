#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "quire/comm/run.h"
#include "tests/support/temp_folder.h"
#include "tests/support/tensors.h"

namespace quire::comm {
namespace {

using namespace quire::testing;

// Runs `script` for `ranks` with standard output and errors in a file.
class RunCommand : public ::testing::Test {
 protected:
  RunResult run(int ranks, const std::string& script) {
    const int out = dup(1), err = dup(2);
    const int file = open(path().c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    std::fflush(nullptr);
    dup2(file, 1);
    dup2(file, 2);
    const RunResult result = run_command(
        {.ranks = ranks, .command = {"/bin/sh", "-c", script}, .grace_s = 0.1});
    dup2(out, 1);
    dup2(err, 2);
    for (const int each : {out, err, file}) close(each);
    return result;
  }
  std::string path() const { return folder_ / "output"; }
  std::string output() const {
    std::ifstream in(path());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void TearDown() override {
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // no child is left
  }

  TempFolder folder_;
};

TEST_F(RunCommand, GivesEveryRankItsEnvironmentAndPrefixesItsLines) {
  const auto result = run(2,
                          "echo $RANK of $WORLD_SIZE; printf "
                          "\"$LOCAL_RANK/$LOCAL_WORLD_SIZE/$GROUP_RANK\" >&2");
  EXPECT_EQ(result.exit_code, 0);
  expect_mentions(output(), {"[rank0] 0 of 2\n", "[rank1] 1 of 2\n",
                             "[rank0] 0/2/0\n", "[rank1] 1/2/0\n"});
}

TEST_F(RunCommand, ItsRanksMeet) {
  EXPECT_EQ(run(2, std::string("exec ") + QUIRE_LAUNCHED).exit_code, 0);
  expect_mentions(output(), {"rank 0 of 2 met 0 1\n", "rank 1 of 2 met 0 1\n"});
}

TEST_F(RunCommand, EndsWithTheFirstFailedRanksCode) {
  const auto result = run(3, "[ $RANK = 1 ] && exit 7; exec sleep 100");
  EXPECT_EQ(result.exit_code, 7);
  ASSERT_TRUE(result.failure.has_value());
  EXPECT_EQ(result.failure->to_string(), "rank 1: exited with code 7");
}

// Rank 0 dies once rank 1 can no longer be ended by a SIGTERM.
TEST_F(RunCommand, KillsRanksThatIgnoreTheTermination) {
  const std::string ready = folder_ / "ready";
  const auto result =
      run(2, "[ $RANK = 0 ] || { trap '' TERM; : >" + ready +
                 "; while :; do sleep 0.01; done; }; until [ -e " + ready +
                 " ]; do sleep 0.01; done; kill -9 $$");
  EXPECT_EQ(result.exit_code, 128 + SIGKILL);
  EXPECT_EQ(result.failure.value().to_string(),
            "rank 0: killed by signal 9 (SIGKILL)");
}

TEST_F(RunCommand, PassesATerminationOn) {
  const auto result =
      run(1, "kill -TERM " + std::to_string(getpid()) + "; exec sleep 100");
  EXPECT_EQ(result.exit_code, 128 + SIGTERM);
}

// Rank 0 has made the folder in which ranks meet, and dies before they have.
TEST_F(RunCommand, RemovesWhereItsRanksWouldHaveMet) {
  setenv("TMPDIR", folder_.path().c_str(), 1);
  const auto result =
      run(2, std::string("[ $RANK = 0 ] || exec sleep 100; ") + QUIRE_LAUNCHED +
                 " & until ls -d $TMPDIR/quire-*;"
                 " do sleep 0.01; done; kill -9 $! $$");
  unsetenv("TMPDIR");
  EXPECT_EQ(result.exit_code, 128 + SIGKILL);
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"output"});
}

TEST_F(RunCommand, RefusesWhatCannotBeRun) {
  const std::string message = usage_error_of(
      [] { run_command({.ranks = 2, .command = {"/no/such/program"}}); });
  expect_mentions(message, {"/no/such/program", "No such file"});
  EXPECT_THROW(run_command({.ranks = 0, .command = {"true"}}), UsageError);
  EXPECT_THROW(run_command({.ranks = 1, .command = {}}), UsageError);
}

}  // namespace
}  // namespace quire::comm
