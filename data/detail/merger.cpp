#include "quire/data/detail/merger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "quire/core/error.h"

namespace quire::data {

void Merger::merge(std::vector<std::int32_t>& ids, std::size_t from) {
  const std::size_t count = ids.size() - from;
  if (count <= kFew) return merge_few(ids, from);
  if (count >= std::numeric_limits<std::int32_t>::max()) {
    throw UsageError(
        fmt::format("a piece of text has {} bytes or characters; expected less "
                    "than 2^31 where the tokenizer cuts",
                    count));
  }
  merge_many(ids, from);
}

// The least rank is looked for again after every merge.
void Merger::merge_few(std::vector<std::int32_t>& ids, std::size_t from) const {
  std::int32_t* const tokens = ids.data() + from;
  std::array<Found, kFew> next;  // of a token and the one behind it
  std::size_t count = ids.size() - from;
  const auto look = [&](std::size_t i) {
    next[i] = i + 1 < count ? merges_->find(tokens[i], tokens[i + 1]) : Found{};
  };
  for (std::size_t i = 0; i < count; ++i) look(i);
  while (count > 1) {
    const auto best = std::min_element(
        next.begin(), next.begin() + static_cast<std::ptrdiff_t>(count),
        [](const Found& a, const Found& b) { return a.rank < b.rank; });
    if (best->rank == MergeTable::kNoRank) break;
    const auto i = static_cast<std::size_t>(best - next.begin());
    tokens[i] = best->result;
    --count;
    for (std::size_t j = i + 1; j < count; ++j) {
      tokens[j] = tokens[j + 1];
      next[j] = next[j + 1];
    }
    look(i);
    if (i > 0) look(i - 1);
  }
  ids.resize(from + count);
}

// A proposal whose tokens were merged with others meanwhile is stale: the rank
// at its place is another, as a rank belongs to one pair.
void Merger::merge_many(std::vector<std::int32_t>& ids, std::size_t from) {
  link(std::span(ids).subspan(from));
  ids.resize(from);
  while (!proposals_.empty()) {
    std::ranges::pop_heap(proposals_, std::greater<>());
    const auto place = static_cast<std::int32_t>(proposals_.back());
    const auto rank = static_cast<std::uint32_t>(proposals_.back() >> 32);
    proposals_.pop_back();
    const Found found = found_at(place);
    if (found.rank == rank && rank != MergeTable::kNoRank)
      merge_at(place, found.result);
  }
  for (std::int32_t i = 0; i >= 0;
       i = links_[static_cast<std::size_t>(i)].after)
    ids.push_back(links_[static_cast<std::size_t>(i)].id);
}

void Merger::link(std::span<const std::int32_t> tokens) {
  const auto count = static_cast<std::int32_t>(tokens.size());
  links_.clear();
  proposals_.clear();
  for (std::int32_t i = 0; i < count; ++i) {
    links_.push_back({.id = tokens[static_cast<std::size_t>(i)],
                      .before = i - 1,
                      .after = i + 1 < count ? i + 1 : -1});
  }
  for (std::int32_t i = 0; i < count; ++i) propose(i);
}

void Merger::propose(std::int32_t left) {
  const Found found = found_at(left);
  if (found.rank == MergeTable::kNoRank) return;
  proposals_.push_back(static_cast<std::uint64_t>(found.rank) << 32 |
                       static_cast<std::uint32_t>(left));
  std::ranges::push_heap(proposals_, std::greater<>());
}

Merger::Found Merger::found_at(std::int32_t left) const {
  const Link& link = links_[static_cast<std::size_t>(left)];
  if (link.id < 0 || link.after < 0) return {};
  return merges_->find(link.id,
                       links_[static_cast<std::size_t>(link.after)].id);
}

void Merger::merge_at(std::int32_t left, std::int32_t result) {
  Link& link = links_[static_cast<std::size_t>(left)];
  Link& gone = links_[static_cast<std::size_t>(link.after)];
  link.id = result;
  link.after = gone.after;
  gone.id = -1;
  if (link.after >= 0)
    links_[static_cast<std::size_t>(link.after)].before = left;
  propose(left);
  if (link.before >= 0) propose(link.before);
}

}  // namespace quire::data
