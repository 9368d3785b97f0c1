#include "quire/core/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace quire {
namespace {

TEST(Nearest, NeedsTheFewestEdits) {
  const std::vector<std::string> known = {"steps", "seed", "output"};
  EXPECT_EQ(nearest("sed", known), "seed");
  EXPECT_EQ(nearest("step", known), "steps");
  EXPECT_EQ(nearest("ouptut", known), "output");
}

TEST(Nearest, IsTheFirstOfEquals) {
  const std::vector<std::string> known = {"ab", "ac"};
  EXPECT_EQ(nearest("a", known), "ab");
}

TEST(Nearest, OfNothingIsEmpty) { EXPECT_EQ(nearest("x", {}), ""); }

TEST(Glob, StarCrossesDots) {
  EXPECT_TRUE(matches_glob("*.bias", "h.0.attn.c_attn.bias"));
  EXPECT_TRUE(matches_glob("h.*.weight", "h.11.ln_1.weight"));
  EXPECT_FALSE(matches_glob("*.bias", "h.0.bias.weight"));
}

TEST(Glob, StarMatchesNothingToo) {
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("a**b", "ab"));
  EXPECT_FALSE(matches_glob("", "a"));
}

TEST(Glob, QuestionMarkIsOneByte) {
  EXPECT_TRUE(matches_glob("h.?", "h.1"));
  EXPECT_FALSE(matches_glob("h.?", "h.11"));
  EXPECT_FALSE(matches_glob("h.?", "h."));
}

TEST(Glob, TriesLaterPlacesForAStar) {
  EXPECT_TRUE(matches_glob("*ab*c", "aabxabc"));
  EXPECT_FALSE(matches_glob("*ab", "abx"));
}

TEST(Counted, AddsAnSButToOne) {
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(counted(12, "thread"), "12 threads");
}

std::vector<std::string> numbers(int count) {
  std::vector<std::string> lines;
  for (int i = 1; i <= count; ++i) lines.push_back(std::to_string(i));
  return lines;
}

TEST(Listed, IsEveryLineOfAFew) {
  EXPECT_EQ(listed({}), "");
  EXPECT_EQ(listed(numbers(3)), "\n  1\n  2\n  3");
  EXPECT_EQ(listed(numbers(2), ", "), ", 1, 2");
  EXPECT_TRUE(listed(numbers(50), " ").ends_with(" 49 50"));
}

TEST(Listed, IsBothEndsOfMany) {
  const std::string text = listed(numbers(600), " ");
  EXPECT_TRUE(text.starts_with(" 1 2 "));
  EXPECT_NE(text.find(" 25 ... and 550 more ... 576 "), std::string::npos);
  EXPECT_TRUE(text.ends_with(" 599 600"));
}

TEST(ProgressBar, IsAsFullAsTheWorkIsDone) {
  EXPECT_EQ(progress_bar(0, 8), "[                                        ]");
  EXPECT_EQ(progress_bar(2, 8), "[##########                              ]");
  EXPECT_EQ(progress_bar(9, 8), "[########################################]");
  EXPECT_EQ(progress_bar(0, 0), progress_bar(1, 1));
}

TEST(Globs, MatchIfOneOfThemDoes) {
  const std::vector<std::string> globs = {"*.bias", "h.?.*"};
  EXPECT_TRUE(matches_any_glob(globs, "h.0.weight"));
  EXPECT_FALSE(matches_any_glob(globs, "h.10.weight"));
  EXPECT_FALSE(matches_any_glob({}, "h.0.weight"));
}

}  // namespace
}  // namespace quire
