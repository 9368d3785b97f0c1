// Disks that have no room, and steps that make some.
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "quire/checkpoint/run_folder.h"
#include "quire/checkpoint/verify.h"
#include "tests/checkpoint/checkpoint_language.h"

namespace quire::checkpoint {
namespace {

using namespace checkpoint::testing;
namespace fs = std::filesystem;

FreeSpace room_of(std::int64_t bytes) {
  return [=](const std::string&) { return std::optional(bytes); };
}

SaveRequest with_room(comm::Communicator& communicator, std::int64_t bytes) {
  auto request =
      request_of(kSmall, {.step = 2}, communicator.rank(), communicator.size());
  request.free = room_of(bytes);
  return request;
}

TEST(Space, IsLookedAtBeforeAnythingIsWritten) {
  const TempFolder run;
  save_world(run.path(), kSmall, {.step = 1}, 1);
  expect_no_errors(run_world(3, [&](auto& communicator, Stream& stream) {
    auto request = with_room(communicator, 1000);
    request.observer = [](std::string_view operation, const std::string&) {
      EXPECT_NE(operation, "create");
    };
    expect_mentions(system_error_of([&] {
                      save(run.path(), request, communicator, stream);
                    }),
                    {"rank 0", run.path(), "1000 bytes", "are to be written",
                     "another disk"});
    if (communicator.rank() == 0) {  // whose the folder was
      EXPECT_EQ(run.names(), std::vector<std::string>{"step-00000001"});
    }
    save(run.path(), request_of(kSmall, {.step = 2}, communicator.rank(), 3),
         communicator, stream);
  }));
  EXPECT_TRUE(verify(run / "step-00000002").empty());
}

std::int64_t bytes_in(const std::string& folder) {
  std::int64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    bytes += static_cast<std::int64_t>(entry.file_size());
  return bytes;
}

TEST(Space, NeededIsThatOfAllRanksFilesAndLittleMore) {
  const TempFolder run;
  save_world(run.path(), kSmall, {.step = 1}, 3);
  const std::int64_t written = bytes_in(run / "step-00000001");
  const auto save_into = [&](std::int64_t room) {
    return run_world(3, [&](auto& communicator, Stream& stream) {
      save(run.path(), with_room(communicator, room), communicator, stream);
    })[1];
  };
  EXPECT_NE(save_into(written - 1), "");
  EXPECT_EQ(save_into(2 * written), "");
}

TEST(Space, OfADiskIsKnown) {
  const TempFolder run;
  const auto free = free_bytes(run.path());
  ASSERT_TRUE(free.has_value());
  EXPECT_GT(*free, 0);
  require_space(run.path(), 1);
  expect_mentions(system_error_of([&] {
                    require_space(run.path(),
                                  std::numeric_limits<std::int64_t>::max());
                  }),
                  {run.path(), "free", "9223372036854775807"});
  expect_mentions(system_error_of([&] { free_bytes(run / "none"); }),
                  {"none", "free space"});
}

void save_keeping(const std::string& folder, std::int64_t step,
                  const Keep& keep) {
  expect_no_errors(run_world(3, [&](auto& communicator, Stream& stream) {
    auto request = request_of(kSmall, {.step = step}, communicator.rank(), 3);
    request.keep = keep;
    save(folder, request, communicator, stream);
  }));
}

TEST(Space, IsMadeByASaveThatIsTheNewest) {
  const TempFolder run;
  for (const std::int64_t step : {1, 2, 3, 4, 5})
    save_keeping(run.path(), step, {.newest = 2, .every = 2});
  using Names = std::vector<std::string>;
  EXPECT_EQ(run.names(),
            (Names{"step-00000002", "step-00000004", "step-00000005"}));
  save_keeping(run.path(), 3, {.newest = 1});  // of a resume of an older step
  EXPECT_EQ(run.names(), (Names{"step-00000002", "step-00000003",
                                "step-00000004", "step-00000005"}));
}

TEST(Space, ThatCannotBeMadeIsSaidAndTheNewStepStands) {
  const TempFolder run;
  save_world(run.path(), kSmall, {.step = 1}, 1);
  const auto errors = run_world(3, [&](auto& communicator, Stream& stream) {
    auto request = request_of(kSmall, {.step = 2}, communicator.rank(), 3);
    request.keep = {.newest = 1};
    request.observer = [](std::string_view operation, const std::string& path) {
      if (operation == "remove" && path.find("tmp-removed") != path.npos)
        throw SystemError(path + " cannot be removed: Input/output error");
    };
    save(run.path(), request, communicator, stream);
  });
  for (const auto& error : errors)
    expect_mentions(error, {"rank 0", "step-00000001", "Input/output error"});
  for (const auto& step : list_steps(run.path()))
    EXPECT_TRUE(verify(step.path).empty());
  EXPECT_EQ(Checkpoint::open(run.path()).manifest().progress.step, 2);
}

// Each rank has a file of its own, and none writes into a neighbour's tile.
TEST(Space, OfNeighboursIsNeverWritten) {
  const Model model{{{7, 3, 5, 255, 257, 1}}};
  const TempFolder run;
  const auto print = save_world(run.path(), model, {.step = 1}, 1);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(save_world(run.path(), model, {.step = 1}, 4), print);
    EXPECT_TRUE(verify(run.path()).empty());
  }
  expect_loads(Checkpoint::open(run.path()), model);
}

}  // namespace
}  // namespace quire::checkpoint
