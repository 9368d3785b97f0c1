// What is done with a run that has been trained.
#include <gtest/gtest.h>

#include "tests/support/command.h"
#include "tests/support/unopenable.h"

namespace quire::testing {
namespace {

class Trained : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new RunFolder;
    trained_ = new Ended(folder_->train("run", {"-n", "2"}));
  }
  static void TearDownTestSuite() {
    delete folder_;
    delete trained_;
  }

  static std::string path(const std::string& name) {
    return folder_->path(name);
  }

  static RunFolder* folder_;
  static Ended* trained_;
};
RunFolder* Trained::folder_ = nullptr;
Ended* Trained::trained_ = nullptr;

TEST_F(Trained, IsInspectedByItsNewestStep) {
  const auto json = quire_command({"inspect", path("run"), "--json"}).json();
  EXPECT_EQ(json.at("step"), 6);
  EXPECT_EQ(json.at("ranks"), 2);
  EXPECT_EQ(json.at("fingerprint"), trained_->json().at("fingerprint"));
  EXPECT_FALSE(json.contains("tensors"));
}

TEST_F(Trained, ListsTheTensorsThatMatch) {
  const auto json = quire_command({"inspect", path("run/step-00000003"),
                                   "--match", "*wpe*", "--json"})
                        .json();
  ASSERT_EQ(json.at("tensors").size(), 3u);
  EXPECT_EQ(json.at("tensors")[2].at("name"), "master:embed.wpe.weight");
  EXPECT_EQ(json.at("tensors")[2].at("shape"), nlohmann::json::array({16, 16}));
}

TEST_F(Trained, ShardsAreInspectedAsWhatTheyAre) {
  const auto json =
      quire_command({"inspect",
                     path("run/step-00000006/shard-00000-of-00002.safetensors"),
                     "--tensors", "--json"})
          .json();
  EXPECT_EQ(json.at("format"), "safetensors");
  EXPECT_EQ(json.at("tensors").size(), json.at("parameters"));
}

TEST_F(Trained, IsWholeAndDiffersFromAnEarlierStep) {
  EXPECT_EQ(quire_command({"verify", path("run")}).code, 0);
  EXPECT_EQ(quire_command(
                {"verify", path("run"), "--against", path("run"), "--state"})
                .code,
            0);
  const Ended ended = quire_command({"verify", path("run"), "--against",
                                     path("run/step-00000003"), "--json"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.json().at("whole"), true);
  EXPECT_EQ(ended.json().at("equal"), false);
}

TEST_F(Trained, DamageIsFoundByVerify) {
  std::filesystem::copy(path("run/step-00000006"), path("damaged"));
  const std::string shard = path("damaged/shard-00001-of-00002.safetensors");
  std::string bytes = text_of(shard);
  bytes.back() ^= 1;
  write_text(shard, bytes);
  const Ended ended = quire_command({"verify", path("damaged"), "--json"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.json().at("damage").size(), 1u) << ended.out;
}

TEST_F(Trained, IsNotCalledDamagedWhereItCannotBeRead) {
  std::filesystem::copy(path("run"), path("unread"),
                        std::filesystem::copy_options::recursive);
  make_unopenable(path("unread/step-00000006/manifest.json"));
  const Ended ended = quire_command({"verify", path("unread")});
  EXPECT_EQ(ended.code, 3);
  EXPECT_TRUE(ended.out.starts_with("unread: ")) << ended.out;
  EXPECT_TRUE(quire_command({"verify", path("unread"), "--json"})
                  .json()
                  .at("whole")
                  .is_null());
}

TEST_F(Trained, IsEvaluatedAsDuringTheRun) {
  const Ended ended =
      quire_command({"evaluate", path("run"), "--data",
                     path("tokens/validation.bin"), "-n", "3", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.json(), trained_->json().at("validation"));
}

TEST_F(Trained, WritesTheSameTextOnAnyNumberOfRanks) {
  const Words words = {"generate", path("run"), "--prompt",      "In the",
                       "--tokens", "8",         "--temperature", "1"};
  const auto with = [&](const Words& more) {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    return quire_command(all);
  };
  const Ended one = with({"--json"});
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.json().at("tokens"), 8);
  EXPECT_EQ(with({"--json", "-n", "2", "--ranks", "threads"}).json(),
            one.json());
  const std::string text = with({"-n", "1"}).out;
  EXPECT_EQ(text.size(), 6u + 8u + 1u);  // every token is a byte
  EXPECT_TRUE(text.starts_with("In the") && text.ends_with("\n"));
  EXPECT_EQ(with({"-n", "2"}).out, text);
}

TEST_F(Trained, ResumesWhereItIsAndRefusesAnotherSeed) {
  std::filesystem::copy(path("run"), path("again"),
                        std::filesystem::copy_options::recursive);
  std::filesystem::remove_all(path("again/step-00000006"));
  const Ended ended = folder_->train(
      "again", {"--resume", "auto", "-n", "3", "--set", "zero.stage=1"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.json().at("resumed_from"), 3);
  EXPECT_EQ(ended.json().at("fingerprint"), trained_->json().at("fingerprint"));
  const Ended other =
      folder_->train("again", {"--resume", "auto", "--set", "seed=2"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("seed: checkpoint has 1, configuration has 2"),
            std::string::npos);
}

}  // namespace
}  // namespace quire::testing
