// What is left when the power goes off in the middle of a save.
#include "tests/checkpoint/power_loss.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "quire/checkpoint/files.h"
#include "quire/checkpoint/run_folder.h"
#include "quire/checkpoint/verify.h"
#include "tests/checkpoint/checkpoint_language.h"

namespace quire::checkpoint {
namespace {

using namespace checkpoint::testing;
using test::DiskCall;
using test::PowerLoss;
using Kind = DiskCall::Kind;
using Names = PowerLoss::Names;
using Bytes = PowerLoss::Bytes;
namespace fs = std::filesystem;

// A file of three bytes of which two were synced, and its folder, which was.
std::vector<DiskCall> calls_of_a_file() {
  return {{.kind = Kind::kCreate, .path = "a"},
          {.kind = Kind::kWrite, .path = "a", .offset = 0, .data = "xy"},
          {.kind = Kind::kSync, .path = "a"},
          {.kind = Kind::kSyncFolder, .path = ""},
          {.kind = Kind::kWrite, .path = "a", .offset = 2, .data = "z"},
          {.kind = Kind::kRename, .path = "a", .to = "b"}};
}

TEST(PowerLoss, LeavesOfAFileWhatWasSynced) {
  const TempFolder before, after;
  const PowerLoss loss(before.path(), calls_of_a_file());
  const auto text = [&](Bytes bytes) {
    const std::string folder = after / std::to_string(static_cast<int>(bytes));
    loss.leave({.call = 6, .names = Names::kLost, .bytes = bytes, .seed = 1},
               folder);
    return read_text(folder + "/a", 100);
  };
  EXPECT_EQ(text(Bytes::kLost), "xy");
  EXPECT_EQ(text(Bytes::kKept), "xyz");
  EXPECT_EQ(text(Bytes::kZeros), std::string("xy\0", 3));
}

TEST(PowerLoss, LeavesOfNamesWhatASyncOfTheFolderMadeSure) {
  const TempFolder before, after;
  const PowerLoss loss(before.path(), calls_of_a_file());
  const auto names = [&](std::size_t call, Names names) {
    const std::string folder =
        after / std::to_string(call) + std::to_string(static_cast<int>(names));
    loss.leave({call, names, Bytes::kKept, 1}, folder);
    return std::pair(fs::exists(folder + "/a"), fs::exists(folder + "/b"));
  };
  EXPECT_EQ(names(3, Names::kLost), std::pair(false, false));
  EXPECT_EQ(names(4, Names::kLost), std::pair(true, false));
  EXPECT_EQ(names(6, Names::kLost), std::pair(true, false));
  EXPECT_EQ(names(6, Names::kKept), std::pair(false, true));
  EXPECT_TRUE(loss.is_sure("a", 4));
  EXPECT_FALSE(loss.is_sure("b", 6));
}

// A run with step 1, and what saving step 2 on three ranks does to it.
struct RecordedSave {
  RecordedSave() {
    save_world(before.path(), kSmall, {.step = 1}, 1);
    fs::copy(before.path(), run / "run", fs::copy_options::recursive);
    const auto result = comm::run_processes(
        3, {.timeout_s = 20.0}, [&](comm::Communicator& communicator) {
          test::DiskRecorder recorder(log, communicator.rank());
          const test::DiskWatch watch(run / "run", recorder);
          Cpu cpu;
          save(run / "run",
               request_of(kSmall, {.step = 2}, communicator.rank(), 3),
               communicator, cpu.stream);
          return 0;
        });
    EXPECT_FALSE(result.failure.has_value());
  }

  TempFolder before, run;
  test::DiskLog log;
};

// The damage of the newest step; "none" if there is no step.
std::string damage_after(const PowerLoss& loss, const PowerLoss::Case& c) {
  const TempFolder after;
  loss.leave(c, after / "run");
  std::string text;
  for (const auto& step : list_steps(after / "run")) text += step.problem;
  for (const auto& damage : verify(after / "run")) text += damage.message;
  return text;
}

TEST(PowerLoss, AtAnyCallOfASaveLeavesAWholeStep) {
  const RecordedSave saved;
  const PowerLoss loss(saved.before.path(), saved.log.calls());
  ASSERT_GT(loss.calls().size(), 60u);
  for (std::size_t call = 0; call <= loss.calls().size(); ++call) {
    const PowerLoss::Case c{.call = call,
                            .names = static_cast<Names>(call % 4),
                            .bytes = static_cast<Bytes>(call / 4 % 4),
                            .seed = call};
    EXPECT_EQ(damage_after(loss, c), "") << to_string(c);
  }
}

TEST(PowerLoss, WhileAnOldStepIsRemovedLeavesNoHalfOfIt) {
  const TempFolder before, run;
  for (const std::int64_t step : {1, 2})
    save_world(before.path(), kSmall, {.step = step}, 1);
  fs::copy(before.path(), run / "run", fs::copy_options::recursive);
  test::DiskLog log;
  {
    test::DiskRecorder recorder(log, 0);
    const test::DiskWatch watch(run / "run", recorder);
    prune(run / "run", {.newest = 1});
  }
  const PowerLoss loss(before.path(), log.calls());
  for (std::size_t call = 0; call <= loss.calls().size(); ++call)
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const PowerLoss::Case c{call, Names::kUpToOneOfAFolder, Bytes::kLost,
                              seed};
      EXPECT_EQ(damage_after(loss, c), "") << to_string(c);
    }
}

// So that the tests above are some.
TEST(PowerLoss, IsSurvivedByNoSaveThatForgetsASync) {
  const RecordedSave saved;
  for (const auto forgotten : {Kind::kSync, Kind::kSyncFolder}) {
    auto calls = saved.log.calls();
    std::erase_if(calls, [&](const auto& call) {
      return call.kind == forgotten && !call.path.empty();
    });
    const std::size_t end = calls.size();
    const PowerLoss loss(saved.before.path(), std::move(calls));
    EXPECT_NE(damage_after(loss, {.call = end,
                                  .names = Names::kLost,
                                  .bytes = Bytes::kLost,
                                  .seed = 1}),
              "");
  }
}

}  // namespace
}  // namespace quire::checkpoint
