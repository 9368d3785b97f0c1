// Which token two neighbours make, and how early: a hash table of the merges.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "quire/data/detail/bpe_parts.h"

namespace quire::data {

class MergeTable {
 public:
  static constexpr std::uint32_t kNoRank =
      std::numeric_limits<std::uint32_t>::max();
  struct Found {
    std::uint32_t rank = kNoRank;
    std::int32_t result = -1;
  };

  // `merges` by rank. Throws UsageError naming `source` and the rank of a merge
  // that stands there twice.
  MergeTable(std::span<const Merge> merges, const std::string& source);

  Found find(std::int32_t left, std::int32_t right) const {
    const std::uint64_t pair = pair_of(left, right);
    for (std::size_t i = home_of(pair);; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.pair == pair) return slot.found;
      if (slot.pair == kFree) return {};
    }
  }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t pair = kFree;
    Found found;
  };

  static std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
           static_cast<std::uint32_t>(right);
  }
  std::size_t home_of(std::uint64_t pair) const {
    return (pair * 0x9e3779b97f4a7c15u >> 20) & mask_;
  }
  bool insert(std::uint64_t pair, Found found);

  std::vector<Slot> slots_;  // a power of two, at most half of them used
  std::size_t mask_;
};

}  // namespace quire::data
