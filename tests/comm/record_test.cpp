#include "quire/comm/record.h"

#include <gtest/gtest.h>

#include "tests/support/tensors.h"

namespace quire::comm {
namespace {

std::uint64_t queue(Record& record, Purpose purpose, std::int64_t bytes) {
  const std::string channel = "gathers";  // the record keeps its own
  RecordEntry entry{};
  entry.sequence = 7;
  entry.purpose = purpose;
  entry.unit = "h.1";
  entry.channel = channel;
  entry.wire_bytes = bytes;
  return record.queued(entry);
}

TEST(Record, AddsTrafficByPurpose) {
  Record record(1);
  queue(record, Purpose::kGather, 10);
  queue(record, Purpose::kGather, 5);
  queue(record, Purpose::kReduce, 3);
  queue(record, Purpose::kControl, 100);
  EXPECT_EQ(record.traffic(Purpose::kGather), (Traffic{2, 15}));
  EXPECT_EQ(record.plan_traffic(), (Traffic{3, 18}));
}

TEST(Record, KeepsTheNewestEntriesOldestFirst) {
  Record record(3);
  for (int bytes = 0; bytes < 5; ++bytes) {
    queue(record, Purpose::kGather, bytes);
  }
  const auto entries = record.newest(10);
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].wire_bytes, 2);
  EXPECT_EQ(entries[2].wire_bytes, 4);
}

TEST(Record, TellsWhatIsStillWaiting) {
  Record record;
  const auto first = queue(record, Purpose::kGather, 1);
  const auto second = queue(record, Purpose::kReduce, 2);
  queue(record, Purpose::kCommit, 3);
  record.started(first);
  record.finished(first);
  record.started(second);
  quire::testing::expect_mentions(
      record.dump(3), {"#7 gather h.1 on gathers: 1 bytes, finished after",
                       "reduce h.1 on gathers: 2 bytes, waiting for",
                       "commit h.1 on gathers: 3 bytes, queued for"});
}

TEST(Record, IgnoresTicketsThatHaveBeenOverwritten) {
  Record record(1);
  const auto first = queue(record, Purpose::kGather, 1);
  queue(record, Purpose::kGather, 2);
  record.started(first);
  record.finished(first);
  EXPECT_EQ(record.newest(1)[0].started_ns, 0);
}

}  // namespace
}  // namespace quire::comm
