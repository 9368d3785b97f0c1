#include <gtest/gtest.h>

#include "tests/support/command.h"

namespace quire::testing {
namespace {

Ended plan(const RunFolder& folder, const Words& more) {
  Words words = {"plan", folder.path("config.json"), "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return quire_command(words);
}

TEST(Plan, AnswersForEveryNumberOfRanks) {
  const RunFolder folder;
  const Ended ended = plan(folder, {"-n", "1,2,4"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto plans = ended.json().at("plans");
  ASSERT_EQ(plans.size(), 3u);
  EXPECT_EQ(plans[2].at("ranks"), 4);
  EXPECT_EQ(plans[2].at("stage"), 3);
  EXPECT_LT(plans[2].at("memory").at("predicted_peak_bytes"),
            plans[0].at("memory").at("predicted_peak_bytes"));
  EXPECT_EQ(plans[0].at("fits"), true);
}

TEST(Plan, EndsWithOneIfNothingFits) {
  const RunFolder folder;
  EXPECT_EQ(plan(folder, {"--budget", "1GiB"}).code, 0);
  const Ended ended = plan(folder, {"--budget", "1KiB", "-n", "1,2"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.json().at("plans")[1].at("fits"), false);
  EXPECT_EQ(plan(folder, {"--budget", "much"}).code, 2);
}

TEST(Plan, ListsTheOperationsOfAStep) {
  const RunFolder folder;
  const Ended ended = plan(folder, {"-n", "2", "--steps"});
  EXPECT_NE(ended.out.find("gather"), std::string::npos);
  EXPECT_EQ(ended.json().at("plans").size(), 1u);
}

}  // namespace
}  // namespace quire::testing
