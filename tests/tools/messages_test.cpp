// What the command says of bad input: tests/data/messages.txt holds, as on a
// terminal, what is typed, what stands on stderr, and the exit code.
#include <gtest/gtest.h>

#include <regex>

#include "tests/support/command.h"

namespace quire::testing {
namespace {

struct Transcript {
  int line = 0;  // of the file, where it begins
  std::string typed;
  std::string said;  // <hash> and <n> stand for what differs between machines
  int code = 0;
};
void PrintTo(const Transcript& transcript, std::ostream* out) {
  *out << transcript.typed;
}

std::vector<Transcript> transcripts() {
  std::ifstream file(QUIRE_TEST_DATA "/messages.txt");
  std::vector<Transcript> all;
  Transcript open;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    if (line.starts_with("$ ")) {
      if (open.typed.empty()) open.line = number;
      open.typed += line.substr(2) + "\n";
    } else if (line.starts_with("exit ")) {
      open.code = std::stoi(line.substr(5));
      all.push_back(std::move(open));
      open = {};
    } else {
      open.said += line + "\n";
    }
  }
  return all;
}

std::regex pattern_of(const std::string& text) {
  static const std::regex kSpecial(R"([.*+?^${}()|\[\]\\])");
  std::string pattern = std::regex_replace(text, kSpecial, R"(\$&)");
  pattern = std::regex_replace(pattern, std::regex("<hash>"), "[0-9a-f]{16}");
  return std::regex(std::regex_replace(pattern, std::regex("<n>"), "[0-9]+"));
}

// patch FILE OFFSET BYTES
constexpr const char* kShell = R"(
quire() { "$QUIRE" "$@"; }
patch() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2> dd.log; }
cd "$FOLDER" || exit 99
)";

class Messages : public ::testing::TestWithParam<Transcript> {
 protected:
  // config.json, tokens/, text, and two runs of it on 2 ranks: run/ and, of
  // another seed, other/.
  static void SetUpTestSuite() {
    base_ = new TempFolder;
    const std::string made = std::string("set -e\n") + kShell + R"(
for i in 1 2 3 4 5 6; do
  for k in 1 2 3 4 5 6 7 8 9 10; do printf 'In the beginning was the word. '; done
done > text
quire tokenize text --tokenizer bytes --out tokens --validation 0.1
cat > config.json << END
{"steps": 6,
 "model": {"type": "gpt2", "layers": 2, "width": 16, "heads": 2,
           "context": 16, "vocab": 256},
 "data": {"train": "tokens/train.bin",
          "validation": "tokens/validation.bin", "sequence": 16},
 "batch": {"lanes": 4, "lane_samples": 1},
 "optimizer": {"type": "adamw", "lr": 1e-3},
 "checkpoint": {"every": 3}}
END
quire train config.json --out run -n 2
quire train config.json --out other -n 2 --set seed=2
)";
    const Ended ended = type(made, base_->path());
    ASSERT_EQ(ended.code, 0) << ended.err;
  }
  static void TearDownTestSuite() { delete base_; }

  static Ended type(const std::string& script, const std::string& folder) {
    Started started({"-c", script},
                    {"FOLDER=" + folder, std::string("QUIRE=") + QUIRE_COMMAND,
                     "DATA=" QUIRE_TEST_DATA,
                     "PATH=" + path_to_command() + ":/usr/bin:/bin"},
                    "/bin/sh");
    const int code = started.wait();
    return {.code = code, .out = started.out(), .err = started.err()};
  }
  static std::string path_to_command() {
    return std::filesystem::path(QUIRE_COMMAND).parent_path().string();
  }

  static TempFolder* base_;
};
TempFolder* Messages::base_ = nullptr;

TEST_P(Messages, AreTheOnesThatStandInTheFile) {
  const Transcript& expected = GetParam();
  const TempFolder folder;
  std::filesystem::copy(base_->path(), folder.path(),
                        std::filesystem::copy_options::recursive);
  const Ended ended = type(kShell + expected.typed, folder.path());
  EXPECT_EQ(ended.code, expected.code) << ended.err;
  EXPECT_TRUE(std::regex_match(ended.err, pattern_of(expected.said)))
      << "expected:\n"
      << expected.said << "got:\n"
      << ended.err;
}

INSTANTIATE_TEST_SUITE_P(File, Messages, ::testing::ValuesIn(transcripts()),
                         [](const auto& info) {
                           return "Line" + std::to_string(info.param.line);
                         });

}  // namespace
}  // namespace quire::testing
