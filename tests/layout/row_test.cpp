#include "quire/layout/row.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "quire/core/error.h"

namespace quire::layout {
namespace {

constexpr std::int64_t kSizes[] = {1, 2, 3, 5, 6, 7, 255, 256, 257, 1000};
constexpr std::int64_t kHuge = std::int64_t{65536} * 32769;

std::vector<Member> members_of(std::span<const std::int64_t> sizes) {
  std::vector<Member> members;
  for (const std::int64_t size : sizes) {
    members.push_back({static_cast<int>(members.size()), size});
  }
  return members;
}

Row row_of(std::initializer_list<std::int64_t> sizes, int ranks) {
  return Row(members_of({sizes.begin(), sizes.size()}), ranks);
}

// How often each element of each parameter is owned, and that what a range
// says of both its ends agrees with the row.
void expect_every_element_once(const Row& row) {
  std::map<int, std::vector<int>> owners;
  for (const Segment& segment : row.segments()) {
    owners[segment.parameter].resize(segment.numel);
  }
  for (int rank = 0; rank < row.ranks(); ++rank) {
    for (const Range& range : row.ranges(rank)) {
      EXPECT_EQ(row.segment(range.parameter).begin + range.first,
                rank * row.slice() + range.offset);
      for (std::int64_t i = 0; i < range.count; ++i) {
        ++owners[range.parameter].at(range.first + i);
      }
    }
  }
  for (const auto& [parameter, counts] : owners) {
    EXPECT_EQ(counts, std::vector<int>(counts.size(), 1)) << parameter;
  }
}

void expect_whole_tiles(const Row& row) {
  EXPECT_EQ(row.slice() % 256, 0);
  for (int rank = 0; rank < row.ranks(); ++rank) {
    std::int64_t owned = 0;
    for (const Range& range : row.ranges(rank)) {
      EXPECT_EQ(range.first % 256, 0);
      EXPECT_EQ(range.offset % 256, 0);
      EXPECT_GT(range.count, 0);
      owned += range.count;
    }
    EXPECT_EQ(owned + row.padding(rank), row.slice());
  }
}

TEST(Row, StartsEveryParameterOnATile) {
  const Row row = row_of({300, 5, 256}, 2);  // 2 + 1 + 1 tiles
  EXPECT_EQ(row.segment(0).begin, 0);
  EXPECT_EQ(row.segment(1).begin, 512);
  EXPECT_EQ(row.segment(2).begin, 768);
  EXPECT_EQ(row.slice(), 512);
  EXPECT_EQ(row.full(), 1024);
}

TEST(Row, NamesWhatARankOwnsWithoutPadding) {
  const Row row = row_of({700, 5, 256}, 2);  // 3 + 1 + 1 tiles, 3 for each rank
  EXPECT_EQ(row.ranges(0), (std::vector<Range>{{0, 0, 0, 700}}));
  EXPECT_EQ(row.ranges(1),
            (std::vector<Range>{{1, 0, 0, 5}, {2, 0, 256, 256}}));
  EXPECT_EQ(row.padding(0), 68);
  EXPECT_EQ(row.padding(1), 507);
}

TEST(Row, CutsAParameterBetweenTiles) {
  const Row row = row_of({1000}, 3);  // 4 tiles, 2 for each rank
  EXPECT_EQ(row.ranges(0), (std::vector<Range>{{0, 0, 0, 512}}));
  EXPECT_EQ(row.ranges(1), (std::vector<Range>{{0, 512, 0, 488}}));
  EXPECT_TRUE(row.ranges(2).empty());
  EXPECT_EQ(row.padding(2), 512);
}

TEST(Row, KeepsTheSizeThatWasDeclared) {
  const Row row = row_of({7}, 4);
  EXPECT_EQ(row.segment(0).numel, 7);
  EXPECT_EQ(row.ranges(0), (std::vector<Range>{{0, 0, 0, 7}}));
  EXPECT_EQ(row.full(), 1024);
}

TEST(Row, OfNothingIsEmpty) {
  const Row row = row_of({}, 4);
  EXPECT_TRUE(row.empty());
  EXPECT_EQ(row.full(), 0);
  EXPECT_TRUE(row.ranges(3).empty());
  EXPECT_EQ(row_of({0}, 4).slice(), 0);
}

TEST(Row, GivesEveryElementToOneRankInWholeTiles) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const std::int64_t size : kSizes) {
      const Row row = row_of({size}, ranks);
      expect_every_element_once(row);
      expect_whole_tiles(row);
    }
    const Row all(members_of(kSizes), ranks);
    expect_every_element_once(all);
    expect_whole_tiles(all);
  }
}

// What the owners of three rows save by parameter is what was laid out.
TEST(Row, ReadsBackByNameWhatWasWrittenBySlice) {
  for (const std::int64_t size : {7, 3, 5, 1000}) {
    const Row row = row_of({size}, 4);
    std::vector<std::int64_t> full(row.full(), -1), read(size, -1);
    std::iota(full.begin(), full.begin() + size, 0);
    for (int rank = 0; rank < 4; ++rank) {
      for (const Range& range : row.ranges(rank)) {
        for (std::int64_t i = 0; i < range.count; ++i) {
          read[range.first + i] = full[rank * row.slice() + range.offset + i];
        }
      }
    }
    for (std::int64_t i = 0; i < size; ++i) EXPECT_EQ(read[i], i);
  }
}

TEST(Row, CountsBeyondThirtyOneBits) {
  const Row row = row_of({kHuge, 7}, 1);
  EXPECT_EQ(row.segment(1).begin, 2147549184);
  EXPECT_EQ(row.ranges(0)[1], (Range{1, 0, 2147549184, 7}));
  EXPECT_EQ(row.full(), 2147549440);
}

TEST(Row, CutsBeyondFourGigabytesIntoThree) {
  const Row row = row_of({1500000000}, 3);  // 5859375 tiles
  EXPECT_EQ(row.slice(), 500000000);
  EXPECT_EQ(row.ranges(2), (std::vector<Range>{{0, 1000000000, 0, 500000000}}));
  const Row huge = row_of({kHuge}, 3);  // 8388864 tiles, 2796288 for each
  EXPECT_EQ(huge.ranges(2),
            (std::vector<Range>{{0, 1431699456, 0, 715849728}}));
}

TEST(Row, RefusesWhatDoesNotFitSixtyTwoBits) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  EXPECT_EQ(row_of({kMost}, 1).full(), kMost);
  EXPECT_THROW(row_of({kMost}, 3), UsageError);
  EXPECT_THROW(row_of({kMost, 1}, 1), UsageError);
  EXPECT_THROW(row_of({kMost + 1}, 1), UsageError);
  EXPECT_THROW(row_of({-1}, 1), UsageError);
}

TEST(Row, RefusesRanksAndParametersThatAreNotThere) {
  EXPECT_THROW(row_of({5}, 0), UsageError);
  EXPECT_THROW(row_of({5}, 2).ranges(2), UsageError);
  EXPECT_THROW(row_of({5}, 2).ranges(-1), UsageError);
  EXPECT_THROW(row_of({5}, 2).segment(1), UsageError);
}

}  // namespace
}  // namespace quire::layout
