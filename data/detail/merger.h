// Merges the tokens of a piece until no two neighbours make another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "quire/data/detail/merge_table.h"

namespace quire::data {

// Keeps its memory between pieces. Used by one thread.
class Merger {
 public:
  // `merges` must outlive it.
  explicit Merger(const MergeTable& merges) : merges_(&merges) {}

  // Those of `ids` from place `from` on. Time grows with n log n. REQUIRES:
  // less than 2^31 of them; else UsageError.
  void merge(std::vector<std::int32_t>& ids, std::size_t from);

 private:
  using Found = MergeTable::Found;
  static constexpr std::size_t kFew = 32;

  void merge_few(std::vector<std::int32_t>& ids, std::size_t from) const;
  void merge_many(std::vector<std::int32_t>& ids, std::size_t from);
  void link(std::span<const std::int32_t> tokens);
  void propose(std::int32_t left);
  void merge_at(std::int32_t left, std::int32_t result);
  Found found_at(std::int32_t left) const;

  // A token of a long piece, between its neighbours; -1: none, or merged away.
  struct Link {
    std::int32_t id;
    std::int32_t before;
    std::int32_t after;
  };

  const MergeTable* merges_;
  std::vector<Link> links_;
  std::vector<std::uint64_t> proposals_;  // a heap: rank << 32 | place, least
};

}  // namespace quire::data
