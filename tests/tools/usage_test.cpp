#include <gtest/gtest.h>

#include "tests/support/command.h"

namespace quire::testing {
namespace {

class Misused : public ::testing::TestWithParam<Words> {};

TEST_P(Misused, CommandEndsWithTwoAndOneLine) {
  const Ended ended = quire_command(GetParam());
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err.substr(0, 7), "error: ") << ended.err;
  EXPECT_EQ(ended.err.find('\n'), ended.err.size() - 1) << ended.err;
  EXPECT_EQ(ended.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    Words, Misused,
    ::testing::Values(
        Words{}, Words{"fly"}, Words{"convert", "a", "b"},
        Words{"convert", "absent", "b", "--to", "hf"},
        Words{"convert", "absent", "b", "--to", "hf", "--dtype", "i32"},
        Words{"report", "a"}, Words{"train"}, Words{"train", "absent.json"},
        Words{"train", "a.json", "--max-restarts", "2"},
        Words{"train", "a.json", "-n", "0"},
        Words{"train", "a.json", "-n", "two"},
        Words{"train", "a.json", "--ranks", "hosts"},
        Words{"run", "-n", "2", "--nnodes", "2", "--", "true"},
        Words{"run", "-n", "2"}, Words{"run", "-n", "1", "--", "./absent"},
        Words{"plan", "absent.json"}, Words{"evaluate", "absent"},
        Words{"evaluate", "absent", "--data", "absent"},
        Words{"generate", "absent", "--prompt", "a"},
        Words{"inspect", "absent"}, Words{"verify", "absent"},
        Words{"verify", "absent", "--state"},
        Words{"tokenize", "absent", "--tokenizer", "bytes", "--out", "tokens"},
        Words{"tokenize", "absent", "--tokenizer", "gpt3", "--out", "tokens"}));

TEST(Usage, NumbersThatDoNotFitAreNotTakenForOthers) {
  for (const std::string flag : {"--seed", "--tokens", "--top-k"}) {
    for (const std::string value : {"-1", "99999999999999999999"}) {
      const Ended ended =
          quire_command({"generate", "absent", "--prompt", "a", flag, value});
      EXPECT_EQ(ended.code, 2);
      EXPECT_NE(ended.err.find(flag + ": Value " + value), std::string::npos)
          << ended.err;
    }
  }
}

TEST(Usage, ErrorsAreObjectsToo) {
  const Ended ended = quire_command({"inspect", "absent", "--json"});
  const auto error = ended.json().at("error");
  EXPECT_EQ(error.at("exit"), 2);
  EXPECT_EQ(error.at("message"),
            "absent does not exist; expected a checkpoint, a run's folder or a "
            "safetensors file");
  for (const char* key : {"rank", "step", "phase", "layer"})
    EXPECT_TRUE(error.at(key).is_null());
}

TEST(Usage, SaysWhenTheResultCannotBeWritten) {
  Words words = {"-c", std::string(QUIRE_COMMAND) + " --version > /dev/full"};
  const Ended ended = run_program("/bin/sh", words);
  EXPECT_EQ(ended.code, 3);
  EXPECT_NE(ended.err.find("stdout"), std::string::npos) << ended.err;
}

TEST(Usage, EndsAsUsualWhereNobodyCanBeTold) {
  for (const char* nowhere : {"2>&-", "2> /dev/full", ">&- 2>&-"}) {
    const std::string line =
        std::string(QUIRE_COMMAND) + " inspect absent --json " + nowhere;
    EXPECT_EQ(run_program("/bin/sh", {"-c", line}).code, 2) << nowhere;
  }
}

TEST(Usage, VersionSaysWhatTheBuildIs) {
  const auto version = quire_command({"--version", "--json"}).json();
  for (const char* key : {"version", "commit", "compiler", "type", "libraries",
                          "compiled_for", "processor"})
    EXPECT_FALSE(version.at(key).get<std::string>().empty()) << key;
  EXPECT_NE(quire_command({"--version"}).out.find("compiler: "),
            std::string::npos);
}

TEST(Usage, HelpOfTrainListsTheKeys) {
  const Ended ended = quire_command({"train", "--help"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_NE(ended.out.find("optimizer.clip_norm"), std::string::npos);
}

}  // namespace
}  // namespace quire::testing
