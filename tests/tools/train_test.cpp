#include <gtest/gtest.h>

#include "tests/support/command.h"

namespace quire::testing {
namespace {

TEST(Train, EndsWithAllFiguresAsTheLastLine) {
  const RunFolder folder;
  const Ended ended = folder.train("run", {"-n", "2"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto json = ended.json();
  EXPECT_EQ(json.at("steps"), 6);
  EXPECT_EQ(json.at("ranks"), 2);
  EXPECT_EQ(json.at("stage"), 3);
  EXPECT_GT(json.at("loss"), 0.0);
  EXPECT_GT(json.at("tokens_per_s"), 0.0);
  EXPECT_EQ(json.at("memory").at("predicted_peak_bytes"),
            json.at("memory").at("measured_peak_bytes"));
  EXPECT_EQ(json.at("wire").at("predicted_bytes"),
            json.at("wire").at("measured_bytes"));
  EXPECT_EQ(json.at("collectives").at("predicted"),
            json.at("collectives").at("measured"));
}

TEST(Train, HasTheSameBitsInThreadsProcessesAndALaunchersWorld) {
  const RunFolder folder;
  const auto fingerprint = folder.train("a").json().at("fingerprint");
  EXPECT_EQ(folder.train("b", {"-n", "3", "--ranks", "threads"})
                .json()
                .at("fingerprint"),
            fingerprint);
  Words words = {"run", "-n", "2", "--", QUIRE_COMMAND};
  for (const auto& word : folder.train_words("c")) words.push_back(word);
  EXPECT_EQ(quire_command(words).code, 0);
  EXPECT_EQ(
      quire_command({"verify", folder.path("a"), "--against", folder.path("c")})
          .code,
      0);
}

TEST(Train, RefusesAFolderThatIsNotEmpty) {
  const RunFolder folder;
  std::filesystem::create_directory(folder.path("run"));
  write_text(folder.path("run/mine"), "mine");
  const Ended ended = folder.train("run");
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.json().at("error").at("exit"), 2);
  EXPECT_EQ(text_of(folder.path("run/mine")), "mine");
}

TEST(Train, RefusesAnOutputThatCannotBeMade) {
  const RunFolder folder;
  write_text(folder.path("file"), "mine");
  EXPECT_EQ(folder.train("file").code, 2);
  EXPECT_EQ(folder.train("file/run").code, 2);
  EXPECT_EQ(text_of(folder.path("file")), "mine");
}

TEST(Train, NeedsAnOutput) {
  const RunFolder folder;
  const Ended ended = quire_command({"train", folder.path("config.json")});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("output is missing"), std::string::npos);
}

TEST(Train, RefusesAPlanAboveTheBudgetBeforeTheFirstStep) {
  const RunFolder folder;
  const Ended ended = folder.train("run", {"--set", "memory.budget=10KiB"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("activations"), std::string::npos) << ended.err;
  EXPECT_FALSE(std::filesystem::exists(folder.path("run")));
}

TEST(Train, RefusesAnotherNumberThanTheLaunchersWorld) {
  const RunFolder folder;
  const Ended ended = quire_command(
      folder.train_words("run", {"-n", "3"}),
      {"RANK=0", "WORLD_SIZE=2", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=2"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("leave -n out"), std::string::npos) << ended.err;
}

// A run that goes on until it is stopped, once its first checkpoint stands.
class Endless {
 public:
  explicit Endless(const Words& more)
      : started_(folder_.train_words(
            "run",
            with({"--set", "steps=1000000", "--set", "checkpoint.every=20"},
                 more))) {
    while (!std::filesystem::exists(folder_.path("run/step-00000020")) &&
           std::chrono::steady_clock::now() < limit_)
      usleep(5000);
  }

  Started& started() { return started_; }
  const RunFolder& folder() const { return folder_; }

 private:
  static Words with(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  RunFolder folder_;
  std::chrono::steady_clock::time_point limit_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(30);
  Started started_;
};

TEST(Train, NamesARankThatIsKilledAndHowToGoOn) {
  Endless run({"-n", "3"});
  const auto children = run.started().children();
  ASSERT_EQ(children.size(), 3u);
  kill(children[1], SIGKILL);
  EXPECT_EQ(run.started().wait(), 3);
  const Ended ended = {3, run.started().out(), run.started().err()};
  const auto error = ended.json().at("error");
  EXPECT_EQ(error.at("rank"), 1);
  EXPECT_GE(error.at("step"), 19);
  EXPECT_EQ(error.at("exit"), 3);
  EXPECT_NE(ended.err.find("\nto go on behind " + run.folder().path("run") +
                           "/step-000"),
            std::string::npos);
  EXPECT_NE(ended.err.find(": the same command with --resume auto\n"
                           "error: rank 1 in step "),
            std::string::npos);
  EXPECT_EQ(quire_command({"verify", run.folder().path("run")}).code, 0);
}

TEST(Train, SavesAndEndsWith75WhenItIsTerminated) {
  for (const char* kind : {"processes", "threads"}) {
    Endless run({"-n", "2", "--ranks", kind});
    run.started().send(SIGTERM);
    EXPECT_EQ(run.started().wait(), 75) << run.started().err();
    const Ended ended = {75, run.started().out(), run.started().err()};
    EXPECT_EQ(ended.json().at("stopped"), true);
    const auto inspected =
        quire_command({"inspect", run.folder().path("run"), "--json"}).json();
    EXPECT_EQ(inspected.at("step"), ended.json().at("steps"));
    EXPECT_TRUE(ended.err.ends_with("to go on behind " +
                                    inspected.at("path").get<std::string>() +
                                    ": the same command with --resume auto\n"))
        << ended.err;
  }
}

TEST(Train, EndsWith4WhenItDiverges) {
  const RunFolder folder;
  const Ended ended = folder.train(
      "run", {"-n", "2", "--set", "steps=40", "--set", "optimizer.lr=1e30",
              "--set", "optimizer.clip_norm=none"});
  EXPECT_EQ(ended.code, 4) << ended.err;
  EXPECT_EQ(ended.json().at("error").at("exit"), 4);
}

}  // namespace
}  // namespace quire::testing
