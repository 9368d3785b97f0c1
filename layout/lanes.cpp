#include "quire/layout/lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "quire/core/divide.h"
#include "quire/core/error.h"

namespace quire::layout {
namespace {

void require_positive(const char* what, int count) {
  if (count < 1) {
    throw UsageError(
        fmt::format("{} {} in a step; at least 1 is needed", count, what));
  }
}

// Of one step. 64 bits inside: a rank times a number of lanes may exceed 31.
struct Cut {
  std::int64_t lanes, ranks, width;

  Run clipped(std::int64_t begin, std::int64_t end) const {
    begin = std::min(begin, end);
    return {.begin = static_cast<int>(begin),
            .end = static_cast<int>(std::min(begin + width, end))};
  }
  Run across(std::int64_t wave, std::int64_t rank) const {
    return clipped((wave * ranks + rank) * width, lanes);
  }
  Run along(std::int64_t wave, std::int64_t rank) const {
    return clipped(rank * lanes / ranks + wave * width,
                   (rank + 1) * lanes / ranks);
  }
};

bool exists(std::int64_t level, std::int64_t index, int lanes) {
  return index << level < lanes;
}

// Down to the name at which a right child exists.
Node canonical(Node node, int lanes) {
  while (node.level > 0 &&
         !exists(node.level - 1, 2 * std::int64_t{node.index} + 1, lanes)) {
    --node.level;
    node.index *= 2;
  }
  return node;
}

// Of canonical nodes. A left child with a sibling is full and thus canonical
// under its own name.
bool are_siblings(const Node& left, const Node& right, int lanes) {
  return left.index % 2 == 0 && exists(left.level, left.index + 1, lanes) &&
         right == canonical({left.level, left.index + 1}, lanes);
}

// Adds the top two while they are siblings; how many times.
int merge_top(std::vector<Node>& stack, int lanes) {
  int adds = 0;
  while (stack.size() > 1 &&
         are_siblings(stack[stack.size() - 2], stack.back(), lanes)) {
    stack.pop_back();
    stack.back() = {stack.back().level + 1, stack.back().index / 2};
    ++adds;
  }
  return adds;
}

void require_adjacent(const Run& left, const Run& right) {
  if (left.end != right.begin) {
    throw UsageError(
        fmt::format("a node of lanes [{}, {}) after one of lanes [{}, {}); "
                    "nodes are merged from left to right without gaps",
                    right.begin, right.end, left.begin, left.end));
  }
}

}  // namespace

Waves::Waves(int lanes, int ranks, int width, Order order)
    : lanes_(lanes), ranks_(ranks), width_(width) {
  require_positive("lanes", lanes);
  require_positive("ranks", ranks);
  require_positive("lanes per wave", width);
  const auto most = static_cast<int>(divide_up(lanes, ranks));
  width_ = std::min(width, most);
  const Cut cut{.lanes = lanes, .ranks = ranks, .width = width_};
  runs_.resize(static_cast<std::size_t>(
      order == Order::kAcrossRanks
          ? divide_up(lanes, std::int64_t{width_} * ranks)
          : divide_up(most, width_)));
  for (int wave = 0; wave < count(); ++wave) {
    for (int rank = 0; rank < ranks; ++rank) {
      runs_[wave].push_back(order == Order::kAcrossRanks
                                ? cut.across(wave, rank)
                                : cut.along(wave, rank));
    }
  }
}

std::vector<int> Waves::of_rank(int rank) const {
  std::vector<int> lanes;
  for (const std::vector<Run>& wave : runs_) {
    for (int lane = wave[rank].begin; lane < wave[rank].end; ++lane) {
      lanes.push_back(lane);
    }
  }
  return lanes;
}

Run lanes_of(const Node& node, int lanes) {
  constexpr int kLevels = 32;  // of 2^31 - 1 lanes
  if (node.level < 0 || node.level >= kLevels || node.index < 0 ||
      !exists(node.level, node.index, lanes)) {
    throw UsageError(fmt::format("node (level {}, index {}) has no lane of {}",
                                 node.level, node.index, lanes));
  }
  const std::int64_t begin = std::int64_t{node.index} << node.level;
  const std::int64_t end = begin + (std::int64_t{1} << node.level);
  return {.begin = static_cast<int>(begin),
          .end = static_cast<int>(std::min<std::int64_t>(end, lanes))};
}

std::vector<Node> whole_nodes(const Run& run, int lanes) {
  if (run.begin < 0 || run.begin > run.end || run.end > lanes) {
    throw UsageError(fmt::format("a run of lanes [{}, {}) in a step of {}",
                                 run.begin, run.end, lanes));
  }
  std::vector<Node> stack;
  for (int lane = run.begin; lane < run.end; ++lane) {
    stack.push_back({.level = 0, .index = lane});
    merge_top(stack, lanes);
  }
  return stack;
}

Merge merge(std::span<const Node> nodes, int lanes) {
  Merge program;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Run covered = lanes_of(nodes[i], lanes);
    if (i > 0) require_adjacent(lanes_of(nodes[i - 1], lanes), covered);
    program.result.push_back(canonical(nodes[i], lanes));
    program.adds.push_back(merge_top(program.result, lanes));
  }
  return program;
}

}  // namespace quire::layout
