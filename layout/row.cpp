#include "quire/layout/row.h"

#include <fmt/format.h>

#include <algorithm>

#include "quire/core/divide.h"
#include "quire/core/error.h"

namespace quire::layout {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 62;

void require_numel(const Member& member) {
  if (member.numel < 0 || member.numel > kMaxElements) {
    throw UsageError(fmt::format(
        "parameter {} has {} elements; a row takes 0 to 2^62 of each",
        member.parameter, member.numel));
  }
}

std::int64_t tiles_in(std::span<const Member> members) {
  std::int64_t tiles = 0;
  for (const Member& member : members) {
    require_numel(member);
    if (__builtin_add_overflow(tiles, tiles_of(member.numel), &tiles)) {
      throw UsageError(fmt::format("a row of {} parameters has too many tiles",
                                   members.size()));
    }
  }
  return tiles;
}

std::int64_t slice_of(std::span<const Member> members, int ranks) {
  if (ranks < 1) {
    throw UsageError(
        fmt::format("a row for {} ranks; at least 1 is needed", ranks));
  }
  const std::int64_t tiles = tiles_in(members);
  const std::int64_t per_rank = divide_up(tiles, ranks);
  if (per_rank > kMaxElements / kTile / ranks) {
    throw UsageError(fmt::format(
        "a row of {} tiles for {} ranks has more than 2^62 elements; split it "
        "into several units",
        tiles, ranks));
  }
  return per_rank * kTile;
}

}  // namespace

Row::Row(std::span<const Member> members, int ranks)
    : ranks_(ranks), slice_(slice_of(members, ranks)) {
  std::int64_t begin = 0;
  segments_.reserve(members.size());
  for (const Member& member : members) {
    segments_.push_back({member.parameter, begin, member.numel});
    begin += tiles_of(member.numel) * kTile;
  }
}

const Segment& Row::segment(int parameter) const {
  const auto found =
      std::ranges::find(segments_, parameter, &Segment::parameter);
  if (found == segments_.end()) {
    throw UsageError(
        fmt::format("parameter {} is not in this row of {} parameters",
                    parameter, segments_.size()));
  }
  return *found;
}

std::vector<Range> Row::ranges(int rank) const {
  if (rank < 0 || rank >= ranks_) {
    throw UsageError(
        fmt::format("rank {} of a row that is cut for {} ranks", rank, ranks_));
  }
  const std::int64_t slice_begin = rank * slice_;
  const std::int64_t slice_end = slice_begin + slice_;
  std::vector<Range> owned;
  for (const Segment& segment : segments_) {
    const std::int64_t begin = std::max(segment.begin, slice_begin);
    const std::int64_t end = std::min(segment.begin + segment.numel, slice_end);
    if (begin >= end) continue;
    owned.push_back({.parameter = segment.parameter,
                     .first = begin - segment.begin,
                     .offset = begin - slice_begin,
                     .count = end - begin});
  }
  return owned;
}

std::int64_t Row::padding(int rank) const {
  std::int64_t elements = slice_;
  for (const Range& range : ranges(rank)) elements -= range.count;
  return elements;
}

}  // namespace quire::layout
