#include "quire/data/detail/merge_table.h"

#include <fmt/format.h>

#include <bit>

#include "quire/core/error.h"

namespace quire::data {

MergeTable::MergeTable(std::span<const Merge> merges, const std::string& source)
    : slots_(std::bit_ceil(2 * merges.size() + 2)), mask_(slots_.size() - 1) {
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const Merge& merge = merges[rank];
    const Found found = {.rank = static_cast<std::uint32_t>(rank),
                         .result = merge.result};
    if (!insert(pair_of(merge.left, merge.right), found)) {
      throw UsageError(
          fmt::format("{}: merge {} stands there twice; expected every one "
                      "once",
                      source, rank));
    }
  }
}

bool MergeTable::insert(std::uint64_t pair, Found found) {
  std::size_t i = home_of(pair);
  for (; slots_[i].pair != kFree; i = (i + 1) & mask_)
    if (slots_[i].pair == pair) return false;
  slots_[i] = {.pair = pair, .found = found};
  return true;
}

}  // namespace quire::data
