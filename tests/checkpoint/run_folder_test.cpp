#include "quire/checkpoint/run_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "quire/checkpoint/verify.h"
#include "tests/checkpoint/checkpoint_language.h"

namespace quire::checkpoint {
namespace {

using namespace checkpoint::testing;
namespace fs = std::filesystem;

void save_steps(const TempFolder& run,
                std::initializer_list<std::int64_t> steps) {
  for (const std::int64_t step : steps)
    save_world(run.path(), Model{{{3}}}, {.step = step}, 1);
}

TEST(RunFolder, NamesStepsWithAtLeastEightDigits) {
  EXPECT_EQ(step_name(20), "step-00000020");
  EXPECT_EQ(step_name(123456789), "step-123456789");
  EXPECT_EQ(parse_step_name("step-00000020"), 20);
  EXPECT_EQ(parse_step_name("step-123456789"), 123456789);
  for (const char* name :
       {"step-20", "step-0000002x", "step-000000020", ".step-00000020", "step-",
        "step-00000020.tmp-1", "step-99999999999999999999"})
    EXPECT_EQ(parse_step_name(name), std::nullopt) << name;
}

TEST(RunFolder, TheNewestWholeStepIsOpenedAndWhatWasSkippedIsTold) {
  const TempFolder run;
  save_steps(run, {5, 10, 15, 20});
  fs::remove(run / "step-00000015/shard-00000-of-00001.safetensors");
  fs::resize_file(run / "step-00000020/manifest.json", 100);
  fs::create_directory(run / "step-00000030");
  fs::create_directory(run / ".step-00000040.tmp-12345678");
  const auto checkpoint = Checkpoint::open(run.path() + "/");
  EXPECT_EQ(checkpoint.manifest().progress.step, 10);
  ASSERT_EQ(checkpoint.skipped().size(), 3u);
  expect_mentions(checkpoint.skipped()[0], {"step-00000030", "manifest.json"});
  expect_mentions(checkpoint.skipped()[1], {"step-00000020", "cut short"});
  expect_mentions(checkpoint.skipped()[2], {"step-00000015", "shard-00000"});
}

TEST(RunFolder, WithoutAWholeStepItSaysWhatItFound) {
  const TempFolder run;
  expect_mentions(usage_error_of([&] { Checkpoint::open(run.path()); }),
                  {run.path(), "no whole checkpoint"});
  fs::create_directory(run / "step-00000030");
  expect_mentions(usage_error_of([&] { Checkpoint::open(run.path()); }),
                  {"no whole checkpoint", "step-00000030"});
  expect_mentions(usage_error_of([&] { Checkpoint::open(run / "none"); }),
                  {"none", "no folder"});
}

TEST(RunFolder, CanBeCopiedAndMoved) {
  const TempFolder run, other;
  save_steps(run, {5});
  fs::copy(run.path(), other / "copy", fs::copy_options::recursive);
  EXPECT_EQ(fingerprint(other / "copy"), fingerprint(run.path()));
  EXPECT_TRUE(verify(other / "copy").empty());
}

TEST(RunFolder, AStepUnderAnothersNameIsPassedOver) {
  const TempFolder run;
  save_steps(run, {5, 10});
  fs::rename(run / "step-00000005", run / "step-00000099");
  const auto checkpoint = Checkpoint::open(run.path());
  EXPECT_EQ(checkpoint.manifest().progress.step, 10);
  expect_mentions(checkpoint.skipped().at(0),
                  {"step-00000099", "of step 5", "step-00000005"});
  expect_mentions(verify(run / "step-00000099/").at(0).message, {"of step 5"});
  fs::rename(run / "step-00000099", run / "best");
  EXPECT_TRUE(verify(run / "best").empty());
}

TEST(RunFolder, PruneKeepsTheNewestWholeSteps) {
  const TempFolder run;
  save_steps(run, {5, 10, 15, 20});
  fs::resize_file(run / "step-00000020/manifest.json", 100);
  prune(run.path(), {.newest = 2});
  EXPECT_EQ(run.names(),
            (std::vector<std::string>{"step-00000010", "step-00000015",
                                      "step-00000020"}));
  expect_mentions(usage_error_of([&] { prune(run.path(), {.newest = -1}); }),
                  {"-1", "at least 0"});
}

TEST(RunFolder, PruneKeepsStepsOfTheirMultiplesToo) {
  const TempFolder run;
  save_steps(run, {5, 10, 15, 20, 25});
  prune(run.path(), {});
  EXPECT_EQ(run.names().size(), 5u);
  prune(run.path(), {.newest = 1, .every = 10});
  EXPECT_EQ(run.names(),
            (std::vector<std::string>{"step-00000010", "step-00000020",
                                      "step-00000025"}));
}

TEST(RunFolder, LeftoversGoWithTheNextSaveAndNothingElseDoes) {
  const TempFolder run;
  fs::create_directory(run / ".step-00000005.tmp-12345678");
  fs::create_directory(run / ".step-00000004.tmp-removed");
  fs::create_directory(run / ".step-x.tmp-12345678");
  fs::create_directory(run / ".git");
  std::ofstream(run / "metrics.jsonl") << "{}";
  save_steps(run, {5});
  EXPECT_EQ(run.names(),
            (std::vector<std::string>{".git", ".step-x.tmp-12345678",
                                      "metrics.jsonl", "step-00000005"}));
}

TEST(RunFolder, AFreshRunRefusesAFolderThatHoldsSomething) {
  const TempFolder run;
  require_fresh(run / "none");
  fs::create_directory(run / ".step-00000005.tmp-12345678");
  require_fresh(run.path());
  save_steps(run, {5});
  expect_mentions(usage_error_of([&] { require_fresh(run.path()); }),
                  {run.path(), "step-00000005", "resume"});
  expect_mentions(usage_error_of([&] {
                    require_fresh(run / "step-00000005/manifest.json");
                  }),
                  {"no folder"});
}

}  // namespace
}  // namespace quire::checkpoint
