// Runs of the command that start from a folder of Hugging Face.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/tensors.h"
#include "tests/support/texts.h"

namespace quire::testing {
namespace {

const std::string kModel = QUIRE_TEST_DATA "/llama_tiny";

// quire train, of a run that starts from `model`.
Ended train(const Texts& texts, const std::string& model,
            const std::string& name, const Words& more = {}) {
  const nlohmann::json config = {
      {"steps", 4},
      {"model", {{"from", model}}},
      {"data", {{"train", texts.tokens()}, {"sequence", 16}}},
      {"batch", {{"lanes", 4}, {"lane_samples", 1}}},
      {"optimizer", {{"type", "adamw"}, {"lr", 1e-3}}}};
  write_text(texts.path("run.json"), config.dump());
  Words words = {"train", texts.path("run.json"), "--out", texts.path(name),
                 "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return quire_command(words);
}

TEST(TrainFrom, HasTheSameBitsOnAnyNumberOfRanks) {
  const Texts texts;
  const Ended one = train(texts, kModel, "one", {"-n", "1"});
  ASSERT_EQ(one.code, 0) << one.err;
  const Ended three = train(texts, kModel, "three", {"-n", "3"});
  EXPECT_EQ(three.json().at("fingerprint"), one.json().at("fingerprint"));
}

TEST(TrainFrom, IsEvaluatedLikeTheFolderItStartedFrom) {
  const Texts texts;
  const Words frozen = {"--set", "optimizer.lr=0", "-n", "2"};
  ASSERT_EQ(train(texts, kModel, "run", frozen).code, 0);
  const auto loss_of = [&](const std::string& model) {
    return quire_command({"evaluate", model, "--data", texts.tokens(),
                          "--sequence", "16", "--json", "-n", "2"})
        .json()
        .at("loss");
  };
  EXPECT_EQ(loss_of(texts.path("run")), loss_of(kModel));
}

// With bytes of ones in place of its last values.
TEST(Evaluate, TellsOfALossThatIsNotFinite) {
  const Texts texts;
  const std::string broken = texts.path("broken");
  std::filesystem::copy(kModel, broken);
  std::fstream file(broken + "/model.safetensors",
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-16, std::ios::end).write("\xff\xff\xff\xff", 4);
  file.close();
  const Ended ended = quire_command(
      {"evaluate", broken, "--data", texts.tokens(), "--sequence", "16"});
  EXPECT_EQ(ended.code, 4);
  expect_mentions(ended.err, {"not finite", "inspect " + broken + " --stats"});
}

}  // namespace
}  // namespace quire::testing
