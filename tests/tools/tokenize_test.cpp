#include <gtest/gtest.h>
#include <sys/stat.h>

#include "quire/data/token_set.h"
#include "tests/support/command.h"

namespace quire::testing {
namespace {

std::string decoded(const std::string& path) {
  const data::TokenSet tokens(path);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens.size()));
  tokens.copy(0, tokens.size(), ids.data());
  return {ids.begin(), ids.end()};
}

class Tokenize : public ::testing::Test {
 protected:
  Tokenize() {
    write_text(folder_ / "a", "abcdef");
    write_text(folder_ / "b", "ghij");
  }

  Ended tokenize(const Words& more) const {
    Words words = {"tokenize", folder_ / "a", folder_ / "b",   "--tokenizer",
                   "bytes",    "--out",       folder_ / "out", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return quire_command(words);
  }

  TempFolder folder_;
};

TEST_F(Tokenize, JoinsFilesAndHoldsOutTheLastTokens) {
  const Ended ended = tokenize({"--validation", "0.3"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(decoded(folder_ / "out/train.bin"), "abcdefg");
  EXPECT_EQ(decoded(folder_ / "out/validation.bin"), "hij");
  EXPECT_EQ(ended.json().at("train").at("tokens"), 7);
  EXPECT_EQ(ended.json().at("validation").at("tokens"), 3);
  EXPECT_EQ(ended.err, "");  // no bar in a log
}

TEST_F(Tokenize, HoldsOutNothingUnlessAsked) {
  ASSERT_EQ(tokenize({}).code, 0);
  EXPECT_EQ(decoded(folder_ / "out/train.bin"), "abcdefghij");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/validation.bin"));
}

TEST_F(Tokenize, OverwritesNothing) {
  std::filesystem::create_directory(folder_ / "out");
  write_text(folder_ / "out/validation.bin", "mine");
  EXPECT_EQ(tokenize({"--validation", "0.5"}).code, 2);
  EXPECT_EQ(text_of(folder_ / "out/validation.bin"), "mine");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/train.bin"));
}

TEST_F(Tokenize, RefusesAPartWithoutTokens) {
  EXPECT_EQ(tokenize({"--validation", "0.01"}).code, 2);
  EXPECT_EQ(tokenize({"--validation", "1"}).code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(Tokenize, DoesNotWaitForAPipe) {
  std::filesystem::remove(folder_ / "b");
  ASSERT_EQ(mkfifo((folder_ / "b").c_str(), 0600), 0);
  EXPECT_EQ(tokenize({}).code, 2);
}

TEST_F(Tokenize, RefusesAFileInTheFoldersPlace) {
  write_text(folder_ / "out", "mine");
  EXPECT_EQ(tokenize({}).code, 2);
  EXPECT_EQ(text_of(folder_ / "out"), "mine");
}

}  // namespace
}  // namespace quire::testing
