#include <gtest/gtest.h>
#include <sys/stat.h>

#include "quire/data/token_set.h"
#include "quire/data/tokenizer.h"
#include "tests/support/command.h"
#include "tests/support/tokenizer_language.h"

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

  // The ids of the file "c" alone, by another tokenizer.
  std::vector<std::int32_t> ids_of_c(const std::string& tokenizer) const {
    const Ended ended = quire_command({"tokenize", folder_ / "c", "--tokenizer",
                                       tokenizer, "--out", folder_ / "out"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    const data::TokenSet tokens(folder_ / "out/train.bin");
    std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens.size()));
    tokens.copy(0, tokens.size(), ids.data());
    return ids;
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

TEST_F(Tokenize, LeavesNoPartOfAFileWhenASignalStopsIt) {
  write_text(folder_ / "long", std::string(std::size_t{16} << 20, 'x'));
  const std::string out = folder_ / "out";
  std::filesystem::create_directory(out);
  Started started(
      {"tokenize", folder_ / "long", "--tokenizer", "bytes", "--out", out});
  while (std::filesystem::is_empty(out) && started.is_running()) usleep(1000);
  started.send(SIGTERM);
  const int code = started.wait();
  if (std::filesystem::is_empty(out)) {
    EXPECT_EQ(code, 128 + SIGTERM);
  }
  for (const auto& left : std::filesystem::directory_iterator(out))
    EXPECT_EQ(left.path().filename(), "train.bin");  // it was done before
}

TEST_F(Tokenize, HoldsOutNothingUnlessAsked) {
  ASSERT_EQ(tokenize({}).code, 0);
  EXPECT_EQ(decoded(folder_ / "out/train.bin"), "abcdefghij");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/validation.bin"));
}

TEST_F(Tokenize, KnowsGpt2) {
  write_text(folder_ / "c", "Hello world");
  EXPECT_EQ(ids_of_c("gpt2"), (std::vector<std::int32_t>{15496, 995}));
  EXPECT_EQ(data::TokenFile(folder_ / "out/train.bin").width(),
            data::TokenWidth::kU16);
}

// Longer than the blocks in which a text is read.
TEST_F(Tokenize, TakesATextAsAWhole) {
  std::string text;
  while (text.size() < 2'500'000) text += "Once upon a midnight dreary,  \n";
  write_text(folder_ / "c", text);
  EXPECT_EQ(ids_of_c("gpt2"), data::make_tokenizer("gpt2")->encode(text));
}

TEST_F(Tokenize, LetsNoTokenSpanTwoFiles) {
  write_text(folder_ / "a", "Hello wor");
  write_text(folder_ / "b", "ld");
  const Ended ended = quire_command(
      {"tokenize", folder_ / "a", folder_ / "b", "--tokenizer", "gpt2", "--out",
       folder_ / "out", "--validation", "0.25", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.err;  // Hello| wor|ld
  EXPECT_EQ(ended.json().at("train").at("tokens"), 2);
  EXPECT_EQ(ended.json().at("vocabulary"), 50257);
}

TEST_F(Tokenize, TakesAFolderOfALargeVocabulary) {
  Json json = tokenizer_json();
  json["model"]["vocab"]["ab"] = 70'000;
  json["model"]["merges"] = {"a b"};
  std::filesystem::create_directory(folder_ / "model");
  write_text(folder_ / "model/tokenizer.json", json.dump());
  write_text(folder_ / "c", "cab");
  EXPECT_EQ(ids_of_c(folder_ / "model"),
            (std::vector<std::int32_t>{'c', 70'000}));
  EXPECT_EQ(data::TokenFile(folder_ / "out/train.bin").width(),
            data::TokenWidth::kU32);
}

// Longer than a block, and a letter and its mark are on both sides of its end.
TEST_F(Tokenize, BringsATextIntoTheFormThatItsFilesWant) {
  Json json = tokenizer_json();
  json["normalizer"] = {{"type", "NFC"}};
  std::filesystem::create_directory(folder_ / "model");
  write_text(folder_ / "model/tokenizer.json", json.dump());
  const std::string spaces((1 << 20) - 1, ' ');
  write_text(folder_ / "c", spaces + "e\u0301");
  auto ids = std::vector<std::int32_t>((1 << 20) - 1, ' ');
  ids.insert(ids.end(), {0xc3, 0xa9});
  EXPECT_EQ(ids_of_c(folder_ / "model"), ids);
}

TEST_F(Tokenize, OverwritesNothing) {
  std::filesystem::create_directory(folder_ / "out");
  write_text(folder_ / "out/validation.bin", "mine");
  EXPECT_EQ(tokenize({"--validation", "0.5"}).code, 2);
  EXPECT_EQ(text_of(folder_ / "out/validation.bin"), "mine");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/train.bin"));
}

TEST_F(Tokenize, LeavesNoneOfTheFoldersThatItMadeIfItFails) {
  std::filesystem::create_directory(folder_ / "mine");
  const Ended ended = run_program(
      "/bin/sh",
      {"-c", "trap '' XFSZ; ulimit -f 1; exec " QUIRE_COMMAND " tokenize " +
                 (folder_ / "a") + " --tokenizer bytes --out " +
                 (folder_ / "mine/a/b")});
  EXPECT_EQ(ended.code, 3);
  EXPECT_NE(ended.err.find("train.bin cannot be written: File too large"),
            std::string::npos)
      << ended.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "mine"));
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
