// A row is what one collective moves: the parameters of one unit with one type
// and one trainability, each starting on a tile, cut into equal slices of whole
// tiles, one for every rank. Padding is zero and belongs to nobody; trailing
// ranks may own nothing else. Integer arithmetic only; 64 bits everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quire/core/tile.h"

namespace quire::layout {

// A parameter in a row: elements [begin, begin + numel) of the full row.
struct Segment {
  int parameter;  // id in the model
  std::int64_t begin;
  std::int64_t numel;
};

// A part of a parameter that one rank owns: elements [first, first + count) of
// the parameter at [offset, offset + count) of the rank's slice. first and
// offset are multiples of kTile.
struct Range {
  int parameter;
  std::int64_t first;
  std::int64_t offset;
  std::int64_t count;

  friend bool operator==(const Range&, const Range&) = default;
};

struct Member {
  int parameter;
  std::int64_t numel;
};

class Row {
 public:
  // Members in their order, every parameter once. REQUIRES: ranks >= 1, every
  // numel >= 0, at most 2^62 elements with the padding; else UsageError.
  Row(std::span<const Member> members, int ranks);

  int ranks() const { return ranks_; }
  // Elements that a rank owns, and elements of the whole row; with padding.
  std::int64_t slice() const { return slice_; }
  std::int64_t full() const { return slice_ * ranks_; }
  bool empty() const { return segments_.empty(); }
  std::span<const Segment> segments() const { return segments_; }
  // Throws UsageError if the parameter is not in the row.
  const Segment& segment(int parameter) const;
  // What `rank` owns, in the order of the row; without padding. REQUIRES: 0 <=
  // rank < ranks(); else UsageError.
  std::vector<Range> ranges(int rank) const;
  // How many elements of the slice of `rank` no range covers. As ranges().
  std::int64_t padding(int rank) const;

 private:
  int ranks_;
  std::int64_t slice_;
  std::vector<Segment> segments_;
};

}  // namespace quire::layout
