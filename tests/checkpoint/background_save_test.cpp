#include "quire/checkpoint/background_save.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "quire/checkpoint/snapshot.h"
#include "quire/checkpoint/verify.h"
#include "tests/checkpoint/checkpoint_language.h"

namespace quire::checkpoint {
namespace {

using namespace checkpoint::testing;

const Progress kAt{.step = 2};

// A rank with what its background saves need.
struct Saver {
  Saver(comm::Communicator& communicator, const Model& model)
      : rank(communicator.rank()),
        request(request_of(model, kAt, rank, communicator.size())),
        background({.parts = request.parts,
                    .communicator = &communicator,
                    .allocator = &cpu.allocator}) {}
  void start(const std::string& folder) {
    background.start(folder, request, cpu.pool);
  }

  int rank;
  Cpu cpu;
  SaveRequest request;
  BackgroundSave background;
};

void overwrite(const std::vector<Part>& parts) {
  for (const Part& part : parts)
    std::memset(part.data.raw(), 0,
                static_cast<std::size_t>(part.data.bytes()));
}

TEST(BackgroundSave, WritesWhatWasThereWhenItStarted) {
  for (const int ranks : {1, 2, 3, 5}) {
    const TempFolder run;
    const std::uint64_t print = save_world(run / "other", kSmall, kAt, 1);
    expect_no_errors(run_world(ranks, [&](auto& communicator, Stream&) {
      Saver saver(communicator, kSmall);
      saver.start(run / "this");
      overwrite(saver.request.parts);
      EXPECT_EQ(saver.background.wait().fingerprint, print);
    }));
    expect_loads(Checkpoint::open(run / "this"), kSmall);
    EXPECT_TRUE(verify(run / "this").empty());
  }
}

TEST(BackgroundSave, LetsTheRanksMeetWhileItWrites) {
  const TempFolder run;
  std::atomic<bool> met = false;
  const auto errors = run_world(3, [&](auto& communicator, Stream& stream) {
    Saver saver(communicator, kSmall);
    saver.request.observer = [&](std::string_view operation, const auto&) {
      while (operation == "write" && !met)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    communicator.locate({.step = 9, .phase = "forward"});
    saver.start(run.path());
    EXPECT_TRUE(saver.background.busy());
    EXPECT_FALSE(saver.background.finished());
    for (int i = 0; i < 10; ++i) communicator.barrier({.stream = &stream});
    met = true;
    saver.background.wait();
    EXPECT_EQ(communicator.location().step, 9);  // the rank's own
    EXPECT_EQ(communicator.location().phase, "forward");
    EXPECT_FALSE(saver.background.busy());
  });
  expect_no_errors(errors);
}

TEST(BackgroundSave, TakesItsMemoryOnceAndBefore) {
  const TempFolder run;
  expect_no_errors(run_world(1, [&](auto& communicator, Stream&) {
    const Model model{{{600, 300}}};  // 3 and 2 tiles, of 3 kinds
    Saver saver(communicator, model);
    const auto at = static_cast<std::size_t>(Category::kSnapshot);
    EXPECT_EQ(saver.cpu.allocator.report().current[at], 3 * 5 * 1024);
    for (int i = 0; i < 3; ++i) {
      saver.start(run.path());
      saver.background.wait();
    }
    EXPECT_EQ(saver.cpu.allocator.report().total_peak, 3 * 5 * 1024);
  }));
}

TEST(BackgroundSave, HoldsWhatTheMetaDeviceSays) {
  Allocator meta({.device = Device::kMeta});
  std::vector<Part> parts = kSmall.parts(1, 3);
  for (Part& part : parts)
    part.data = meta_tensor(part.data.dtype(), part.data.shape());
  const Snapshot foretold(parts, meta);
  Cpu cpu;
  const Snapshot held(kSmall.parts(1, 3), cpu.allocator);
  EXPECT_EQ(meta.report().total_current, cpu.allocator.report().total_current);
  EXPECT_GT(meta.report().total_current, 0);
}

TEST(BackgroundSave, IsOneAtATime) {
  const TempFolder run;
  expect_no_errors(run_world(1, [&](auto& communicator, Stream&) {
    Saver saver(communicator, kSmall);
    saver.start(run.path());
    expect_mentions(usage_error_of([&] { saver.start(run.path()); }),
                    {"under way", "wait"});
    saver.background.wait();
    expect_mentions(usage_error_of([&] { saver.background.wait(); }),
                    {"start one first"});
    saver.request.parts.pop_back();
    expect_mentions(usage_error_of([&] { saver.start(run.path()); }),
                    {"parts to copy"});
  }));
}

TEST(BackgroundSave, ThatFailsOnOneRankIsThrownByAllAndTheNextGoesThrough) {
  const TempFolder run;
  save_world(run.path(), kSmall, {.step = 1}, 1);
  expect_no_errors(run_world(3, [&](auto& communicator, Stream&) {
    Saver saver(communicator, kSmall);
    if (saver.rank == 2)
      saver.request.observer = [](std::string_view operation,
                                  const std::string& path) {
        if (operation == "write")
          throw SystemError(path + ": No space left on device");
      };
    saver.start(run.path());
    expect_mentions(
        system_error_of([&] { saver.background.wait(); }),
        {"rank 2", "step 2", "save", "shard-00002-of-00003", "No space left"});
    if (saver.rank == 0) {  // whose the folder was
      EXPECT_EQ(run.names(), std::vector<std::string>{"step-00000001"});
    }
    saver.request.observer = {};
    saver.start(run.path());
    saver.background.wait();
  }));
  EXPECT_TRUE(verify(run / "step-00000002").empty());
}

TEST(BackgroundSave, EndsBeforeItsRankDoes) {
  const TempFolder run;
  expect_no_errors(run_world(2, [&](auto& communicator, Stream&) {
    Saver(communicator, kSmall).start(run.path());
  }));
  EXPECT_TRUE(verify(run.path()).empty());
}

TEST(BackgroundSave, OfARankThatDiesLeavesTheStepBefore) {
  const TempFolder run;
  save_world(run.path(), kSmall, {.step = 1}, 1);
  const auto result = comm::run_processes(
      3, {.timeout_s = 20.0}, [&](comm::Communicator& communicator) {
        Saver saver(communicator, kSmall);
        if (saver.rank == 1)
          saver.request.observer = [](std::string_view operation, const auto&) {
            if (operation == "sync") ::raise(SIGKILL);
          };
        saver.start(run.path());
        saver.background.wait();
        return 0;
      });
  ASSERT_TRUE(result.failure.has_value());
  expect_mentions(result.failure->to_string(), {"rank 1", "SIGKILL"});
  expect_loads(Checkpoint::open(run.path()), kSmall);
  EXPECT_EQ(Checkpoint::open(run.path()).manifest().progress.step, 1);
  save_world(run.path(), kSmall, {.step = 3}, 2);
  EXPECT_EQ(run.names(),
            (std::vector<std::string>{"step-00000001", "step-00000003"}));
}

}  // namespace
}  // namespace quire::checkpoint
