#include <gtest/gtest.h>

#include "tests/support/command.h"

namespace quire::testing {
namespace {

TEST(Run, GivesEveryProcessItsPlaceAndItsOwnWords) {
  const Ended ended = quire_command({"run", "-n", "2", "--", "sh", "-c",
                                     "echo $RANK of $WORLD_SIZE $0", "--json"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_NE(ended.out.find("[rank0] 0 of 2 --json\n"), std::string::npos);
  EXPECT_NE(ended.out.find("[rank1] 1 of 2 --json\n"), std::string::npos);
}

TEST(Run, EndsWithTheFirstFailedProcess) {
  const Ended ended =
      quire_command({"run", "-n", "2", "--json", "--", "sh", "-c",
                     "[ $RANK = 0 ] || exit 7; exec sleep 30"});
  EXPECT_EQ(ended.code, 7);
  EXPECT_EQ(ended.err, "error: rank 1 - exited with code 7\n");
  EXPECT_EQ(ended.json().at("error").at("rank"), 1);
}

TEST(Run, EndsWithASignalAsAShellDoes) {
  EXPECT_EQ(
      quire_command({"run", "-n", "1", "--", "sh", "-c", "kill -KILL $$"}).code,
      128 + SIGKILL);
}

}  // namespace
}  // namespace quire::testing
