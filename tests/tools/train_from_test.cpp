// Runs of the command that start from a folder of Hugging Face.
#include <gtest/gtest.h>

#include "tests/support/command.h"

namespace quire::testing {
namespace {

const std::string kModel = QUIRE_TEST_DATA "/llama_tiny";

// Token files of bytes that the model knows: below 197.
class Texts {
 public:
  Texts() {
    std::string text;
    for (int i = 0; i < 60; ++i) text += "In the beginning was the word. ";
    write_text(folder_ / "text", text);
    const Ended ended =
        quire_command({"tokenize", folder_ / "text", "--tokenizer", "bytes",
                       "--out", folder_ / "tokens"});
    EXPECT_EQ(ended.code, 0) << ended.err;
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  std::string tokens() const { return folder_ / "tokens/train.bin"; }

  // quire train, of a run that starts from `model`.
  Ended train(const std::string& model, const std::string& name,
              const Words& more = {}) const {
    const nlohmann::json config = {
        {"steps", 4},
        {"model", {{"from", model}}},
        {"data", {{"train", tokens()}, {"sequence", 16}}},
        {"batch", {{"lanes", 4}, {"lane_samples", 1}}},
        {"optimizer", {{"type", "adamw"}, {"lr", 1e-3}}}};
    write_text(path("run.json"), config.dump());
    Words words = {"train", path("run.json"), "--out", path(name), "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return quire_command(words);
  }

 private:
  TempFolder folder_;
};

TEST(TrainFrom, HasTheSameBitsOnAnyNumberOfRanks) {
  const Texts texts;
  const Ended one = texts.train(kModel, "one", {"-n", "1"});
  ASSERT_EQ(one.code, 0) << one.err;
  const Ended three = texts.train(kModel, "three", {"-n", "3"});
  EXPECT_EQ(three.json().at("fingerprint"), one.json().at("fingerprint"));
}

TEST(TrainFrom, IsEvaluatedLikeTheFolderItStartedFrom) {
  const Texts texts;
  const Words frozen = {"--set", "optimizer.lr=0", "-n", "2"};
  ASSERT_EQ(texts.train(kModel, "run", frozen).code, 0);
  const auto loss_of = [&](const std::string& model) {
    return quire_command({"evaluate", model, "--data", texts.tokens(),
                          "--sequence", "16", "--json", "-n", "2"})
        .json()
        .at("loss");
  };
  EXPECT_EQ(loss_of(texts.path("run")), loss_of(kModel));
}

}  // namespace
}  // namespace quire::testing
