#include "quire/core/stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <numeric>
#include <vector>

#include "quire/core/detail/task_queue.h"

namespace quire {
namespace {

class StreamOf : public testing::TestWithParam<Stream::Kind> {
 protected:
  Stream make(Stream::Kind kind) {
    return Stream(kind, "test", pool_, scratch_);
  }

  ThreadPool pool_{1};
  Allocator scratch_{{}};
  Stream stream_ = make(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Kinds, StreamOf,
                         testing::Values(Stream::Kind::kInline,
                                         Stream::Kind::kBackground));

TEST_P(StreamOf, RunsTasksInOrder) {
  std::vector<int> order;
  for (int i = 0; i < 200; ++i)
    stream_.submit([&order, i] { order.push_back(i); });
  stream_.synchronize();
  std::vector<int> expected(200);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

TEST_P(StreamOf, AnEventPassesWithTheTasksBeforeIt) {
  int value = 0;
  stream_.submit([&] { value = 1; });
  const Event event = stream_.record();
  event.wait();
  EXPECT_EQ(value, 1);
  EXPECT_TRUE(event.passed());
}

TEST_P(StreamOf, ReleasesWhatATaskHoldsBeforeItsEvent) {
  auto held = std::make_shared<int>(1);
  for (int i = 0; i < 50; ++i) {
    stream_.submit([held] {});
    stream_.synchronize();
    ASSERT_EQ(held.use_count(), 1);
  }
}

TEST_P(StreamOf, WaitsForAnotherStreamsEvent) {
  Stream other = make(Stream::Kind::kBackground);
  std::promise<void> go;
  int value = 0;
  other.submit([&value, ready = go.get_future().share()] {
    ready.wait();
    value = 1;
  });
  const Event event = other.record();
  EXPECT_FALSE(event.passed());
  std::thread starter([&] { go.set_value(); });
  stream_.wait(event);
  int seen = 0;
  stream_.submit([&] { seen = value; });
  stream_.synchronize();
  starter.join();
  EXPECT_EQ(seen, 1);
}

TEST_P(StreamOf, HasTheThreadsAndScratchItWasGiven) {
  EXPECT_EQ(&stream_.pool(), &pool_);
  EXPECT_EQ(&stream_.scratch(), &scratch_);
  EXPECT_EQ(stream_.name(), "test");
  EXPECT_EQ(stream_.is_inline(), GetParam() == Stream::Kind::kInline);
}

TEST_P(StreamOf, FlushesSubnormals) {
  float subnormal = 1.0f;
  stream_.submit([&] {
    volatile float tiny = 0x1p-126f;
    subnormal = tiny * 0.5f;
  });
  stream_.synchronize();
  EXPECT_EQ(subnormal, 0.0f);
}

TEST_P(StreamOf, ManyEventsAreWaitedForFromTwoThreads) {
  std::atomic<int> runs = 0;
  for (int i = 0; i < 300; ++i) {
    stream_.submit([&] { ++runs; });
    const Event event = stream_.record();
    std::thread other;
    if (i % 10 == 0) other = std::thread([event] { event.wait(); });
    event.wait();
    ASSERT_EQ(runs, i + 1);
    if (other.joinable()) other.join();
  }
}

class BackgroundStream : public testing::Test {
 protected:
  ThreadPool pool_{1};
  Allocator scratch_{{}};
  Stream stream_{Stream::Kind::kBackground, "test", pool_, scratch_};
};

TEST_F(BackgroundStream, AnExceptionStopsIt) {
  bool later = false;
  const Event before = stream_.record();
  stream_.submit([] { throw SystemError("rank 1 is gone"); });
  stream_.submit([&] { later = true; });
  const Event after = stream_.record();
  EXPECT_THROW(after.wait(), SystemError);
  EXPECT_TRUE(after.passed());
  stream_.submit([&] { later = true; });
  EXPECT_THROW(stream_.synchronize(), SystemError);
  EXPECT_THROW(before.wait(), SystemError);
  EXPECT_FALSE(later);
}

TEST_F(BackgroundStream, AnExceptionReachesTheStreamsThatWait) {
  Stream other(Stream::Kind::kBackground, "other", pool_, scratch_);
  bool later = false;
  stream_.submit([] { throw SystemError("rank 1 is gone"); });
  other.wait(stream_.record());
  other.submit([&] { later = true; });
  EXPECT_THROW(other.synchronize(), SystemError);
  EXPECT_FALSE(later);
}

TEST_F(BackgroundStream, ItsOwnEventNeedsNoWait) {
  bool ran = false;
  stream_.wait(stream_.record());
  stream_.wait(Event());
  stream_.submit([&] { ran = true; });
  stream_.synchronize();
  EXPECT_TRUE(ran);
}

TEST_F(BackgroundStream, FinishesWhatIsQueuedWhenItDies) {
  std::atomic<int> runs = 0;
  Event event;
  {
    Stream dying(Stream::Kind::kBackground, "dying", pool_, scratch_);
    for (int i = 0; i < 20; ++i) dying.submit([&] { ++runs; });
    event = dying.record();
  }
  EXPECT_EQ(runs, 20);
  EXPECT_NO_THROW(event.wait());
}

TEST_F(BackgroundStream, DiesQuietlyAfterAnException) {
  Event event;
  {
    Stream dying(Stream::Kind::kBackground, "dying", pool_, scratch_);
    dying.submit([] { throw SystemError("rank 1 is gone"); });
    event = dying.record();
  }
  EXPECT_THROW(event.wait(), SystemError);
}

TEST(InlineStream, AnExceptionReachesTheCallerAndStopsNothing) {
  ThreadPool pool(1);
  Allocator scratch({});
  Stream stream(Stream::Kind::kInline, "compute", pool, scratch);
  EXPECT_THROW(stream.submit([] { throw UsageError("wrong shape"); }),
               UsageError);
  bool ran = false;
  stream.submit([&] { ran = true; });
  EXPECT_TRUE(ran);
  EXPECT_NO_THROW(stream.synchronize());
}

TEST(TaskQueue, AWaitingThreadDoesTheWorkItself) {
  TaskQueue queue;  // nobody is in run()
  std::vector<int> order;
  for (int i = 0; i < 4; ++i) queue.submit([&order, i] { order.push_back(i); });
  queue.wait(3);
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
  EXPECT_FALSE(queue.passed(4));
  queue.close();
  queue.run();
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3}));
}

}  // namespace
}  // namespace quire
