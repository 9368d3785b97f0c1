// Merges the bytes of a piece until no two neighbours make a token.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "quire/data/detail/merge_table.h"

namespace quire::data {

// Keeps its memory between pieces. Used by one thread.
class Merger {
 public:
  // Both must outlive it.
  Merger(const MergeTable& merges,
         const std::array<std::int32_t, 256>& byte_ids)
      : merges_(&merges), byte_ids_(&byte_ids) {}

  // Appends the piece's ids. Time grows with n log n. REQUIRES: the piece has
  // less than 2^31 bytes; else UsageError.
  void append(std::string_view piece, std::vector<std::int32_t>& ids);

 private:
  using Found = MergeTable::Found;
  static constexpr std::size_t kShort = 32;

  void append_short(std::string_view piece, std::vector<std::int32_t>& ids);
  void append_long(std::string_view piece, std::vector<std::int32_t>& ids);
  void link(std::string_view piece);
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
  const std::array<std::int32_t, 256>* byte_ids_;
  std::vector<Link> links_;
  std::vector<std::uint64_t> proposals_;  // a heap: rank << 32 | place, least
};

}  // namespace quire::data
