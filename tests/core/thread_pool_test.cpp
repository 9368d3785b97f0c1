#include "quire/core/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "quire/core/error.h"

namespace quire {
namespace {

class ThreadPoolOf : public testing::TestWithParam<int> {
 protected:
  ThreadPool pool_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolOf, testing::Values(1, 2, 3, 5));

TEST_P(ThreadPoolOf, RunsEachPanelOnce) {
  for (const std::int64_t panels : {0, 1, 2, 3, 64, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(panels));
    pool_.parallel_for(panels, [&](std::int64_t panel, int) {
      ++runs[static_cast<std::size_t>(panel)];
    });
    for (const auto& count : runs) ASSERT_EQ(count, 1);
  }
}

TEST_P(ThreadPoolOf, RunsManyShortJobs) {
  std::vector<std::int64_t> sums(7);
  for (std::int64_t job = 0; job < 2000; ++job) {
    pool_.parallel_for(7, [&](std::int64_t panel, int) {
      sums[static_cast<std::size_t>(panel)] += job;
    });
  }
  EXPECT_EQ(sums, std::vector<std::int64_t>(7, 1999000));
}

TEST_P(ThreadPoolOf, AWorkerRunsOnePanelAtATime) {
  std::vector<std::atomic<int>> inside(
      static_cast<std::size_t>(pool_.threads()));
  pool_.parallel_for(500, [&](std::int64_t, int worker) {
    EXPECT_EQ(inside.at(static_cast<std::size_t>(worker))++, 0);
    --inside[static_cast<std::size_t>(worker)];
  });
}

TEST_P(ThreadPoolOf, RethrowsTheLowestFailure) {
  const auto fail_from_17 = [](std::int64_t panel, int) {
    if (panel >= 17) throw UsageError(std::to_string(panel));
  };
  for (int i = 0; i < 50; ++i) {
    try {
      pool_.parallel_for(100, fail_from_17);
      FAIL();
    } catch (const UsageError& error) {
      ASSERT_STREQ(error.what(), "17");
    }
  }
}

TEST_P(ThreadPoolOf, WorksAfterAFailure) {
  EXPECT_THROW(pool_.parallel_for(9, [](std::int64_t, int) { throw 1; }), int);
  std::atomic<int> runs = 0;
  pool_.parallel_for(9, [&](std::int64_t, int) { ++runs; });
  EXPECT_EQ(runs, 9);
}

TEST_P(ThreadPoolOf, FlushesSubnormalsInEveryThread) {
  std::atomic<int> kept = 0;
  pool_.parallel_for(64, [&](std::int64_t, int) {
    volatile float tiny = 0x1p-126f;
    volatile float subnormal = tiny * 0.5f;
    if (subnormal != 0.0f) ++kept;
  });
  EXPECT_EQ(kept, 0);
}

TEST_P(ThreadPoolOf, AcceptsAConstCallable) {
  const auto nothing = [](std::int64_t, int) {};
  EXPECT_NO_THROW(pool_.parallel_for(3, nothing));
  EXPECT_EQ(pool_.threads(), GetParam());
}

TEST(ThreadPool, RefusesToHaveNoThread) {
  EXPECT_THROW(ThreadPool(0), UsageError);
}

}  // namespace
}  // namespace quire
