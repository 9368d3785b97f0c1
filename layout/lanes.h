// Lanes, the hands that work on them, and the one binary tree over their
// numbers.
//
// Node (level, index) covers lanes [index 2^level, (index + 1) 2^level) that
// exist; its value is left + right, or the one child that exists. A lane is (0,
// lane). Only the number of lanes decides the tree, so the bits of a sum do not
// depend on who adds which node.
//
// Canonical names: a node whose right child does not exist has the lanes and
// the value of its left child, and is called by that child's name. So of 5
// lanes, lane 4 is (0, 4), never (1, 2) or (2, 1), and the root is (3, 0) =
// (2, 0) + (0, 4). Every name given out is canonical; any name is taken.
#pragma once

#include <span>
#include <vector>

namespace quire::layout {

struct Run {  // consecutive lanes
  int begin = 0;
  int end = 0;

  int count() const { return end - begin; }
  bool empty() const { return begin == end; }
  friend bool operator==(const Run&, const Run&) = default;
};

struct Node {
  int level = 0;
  int index = 0;

  friend bool operator==(const Node&, const Node&) = default;
};

// Which lanes every rank works on in every wave. Ranks without a lane have an
// empty run.
class Waves {
 public:
  enum class Order {
    // A wave is consecutive over the ranks: the owner merges as it goes (stages
    // 2 and 3).
    kAcrossRanks,
    // A rank's lanes are consecutive over the whole step: it keeps few nodes
    // (stages 0 and 1).
    kAlongRank
  };
  // `width`: lanes per rank and wave, at most; clipped to what a rank can have.
  // REQUIRES: all >= 1; else UsageError.
  Waves(int lanes, int ranks, int width, Order order);

  int lanes() const { return lanes_; }
  int ranks() const { return ranks_; }
  int width() const { return width_; }
  int count() const { return static_cast<int>(runs_.size()); }
  // REQUIRES: 0 <= wave < count(), 0 <= rank < ranks().
  Run run(int wave, int rank) const { return runs_[wave][rank]; }
  // All lanes of `rank`, in the order it works on them. REQUIRES: 0 <= rank <
  // ranks().
  std::vector<int> of_rank(int rank) const;

 private:
  int lanes_, ranks_, width_;
  std::vector<std::vector<Run>> runs_;  // [wave][rank]
};

// The lanes of `node` that exist. Throws UsageError if there are none.
Run lanes_of(const Node& node, int lanes);

// What is on the stack after the lanes of `run` were pushed in order and every
// complete node was merged at once: the largest whole nodes, left to right. A
// node is whole when all its lanes that exist (< lanes) have been pushed.
// REQUIRES: the run's lanes exist; else UsageError.
std::vector<Node> whole_nodes(const Run& run, int lanes);

// The additions that bring `nodes` together as far as they go, as a stack
// program: adds[i] is how many times the top two are added after input i was
// pushed. `result`: what is left, left to right. For nodes that cover all lanes
// the result is the root alone. REQUIRES: nodes from left to right, each
// beginning where the last one ended; else UsageError.
struct Merge {
  std::vector<int> adds;
  std::vector<Node> result;
};
Merge merge(std::span<const Node> nodes, int lanes);

}  // namespace quire::layout
