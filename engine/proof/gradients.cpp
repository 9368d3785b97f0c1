// Whether every row of gradients is sent once, whole, and left alone until it
// has arrived.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "quire/engine/proof/case.h"

namespace quire::engine {
namespace {

class Gradients {
 public:
  explicit Gradients(ProofCase& proof) : proof_(proof) {}

  void replay() {
    for (int i = 0; i < proof_.count(); ++i) replay(i);
    for (int u = 0; u < static_cast<int>(proof_.structure().units.size()); ++u)
      require_gathered(u);
  }

 private:
  // Of one segment's use of one unit.
  struct Rows {
    std::vector<int> runs;  // that made what is not reduced yet
    layout::Run lanes;      // of these
    int slot = -1;
    int reduces = 0;
    int in_flight = -1;  // the reduce that is not retired
  };
  using Key = std::pair<int, int>;  // segment, unit

  void replay(int i) {
    const Op& op = proof_.op(i);
    switch (op.kind) {
      case OpKind::kTurn:
      case OpKind::kBackward:
        return run(i);
      case OpKind::kReduce:
        return reduce(i);
      case OpKind::kRetire:
        return retire(i);
      case OpKind::kGatherGradients:
        return gather(i);
      case OpKind::kCommit:
        return commit(i);
      case OpKind::kUpdate:
        return update(i);
      default:
        return;
    }
  }

  bool trainable(int u) const { return !proof_.unit(u).trainable.empty(); }

  void run(int i) {
    const Op& op = proof_.op(i);
    const auto& units = proof_.segment(op.segment).units;
    if (std::ranges::none_of(units, [&](int u) { return trainable(u); }))
      return;
    const bool fits =
        proof_.reduces_at_once()
            ? op.slot >= 0 && op.slot < gradient_slots(proof_.options())
            : op.slot == op.segment;
    if (!fits) proof_.found(i, fmt::format("has no gradient slot {}", op.slot));
    for (const auto& [key, rows] : uses_) require_free(i, key, rows);
    for (int u : units) {
      if (trainable(u)) write(i, uses_[{op.segment, u}]);
    }
  }

  // Stages 2 and 3 share slots among all uses; else every use has its own.
  void require_free(int i, const Key& key, const Rows& rows) {
    const Op& op = proof_.op(i);
    const bool same_memory = proof_.reduces_at_once() ? rows.slot == op.slot
                                                      : key.first == op.segment;
    if (!same_memory) return;
    if (rows.in_flight >= 0)
      proof_.found(i, fmt::format("writes slot {}, from which {} may still "
                                  "send: it is not retired",
                                  op.slot, proof_.name(rows.in_flight)));
    if (proof_.reduces_at_once() && !rows.runs.empty())
      proof_.found(i, fmt::format("writes slot {} before what {} put there is "
                                  "reduced",
                                  op.slot, proof_.name(rows.runs.back())));
  }

  void write(int i, Rows& rows) {
    const Op& op = proof_.op(i);
    if (rows.lanes.empty()) rows.lanes = op.lanes;
    if (!op.lanes.empty()) {
      if (op.lanes != rows.lanes && op.lanes.begin != rows.lanes.end)
        proof_.found(i, fmt::format("adds lane {} after lane {}",
                                    op.lanes.begin, rows.lanes.end - 1));
      rows.lanes.end = op.lanes.end;
    }
    rows.slot = op.slot;
    rows.runs.push_back(i);
  }

  void reduce(int i) {
    const Op& op = proof_.op(i);
    Rows& rows = uses_[{op.segment, op.unit}];
    if (rows.runs.empty()) {
      proof_.found(i, "reduces what no run has made since the last reduce");
    } else if (op.slot != rows.slot) {
      proof_.found(i, fmt::format("reads slot {}; {} wrote slot {}", op.slot,
                                  proof_.name(rows.runs.back()), rows.slot));
    }
    for (int run : rows.runs) {
      if (!proof_.precedes(run, i))
        proof_.found(i, fmt::format("does not wait for {}", proof_.name(run)));
    }
    if (!equal(op.lanes, rows.lanes))
      proof_.found(i, fmt::format("sends lanes [{}, {}); [{}, {}) were run",
                                  op.lanes.begin, op.lanes.end,
                                  rows.lanes.begin, rows.lanes.end));
    send(i, rows);
  }

  static bool equal(const layout::Run& a, const layout::Run& b) {
    return a == b || (a.empty() && b.empty());
  }

  void send(int i, Rows& rows) {
    if (rows.in_flight >= 0)
      proof_.found(i, fmt::format("reduces again before {} is retired",
                                  proof_.name(rows.in_flight)));
    if (rows.reduces++ > 0 && !proof_.reduces_at_once())
      proof_.found(i, "reduces a use for the second time in a step");
    rows.runs.clear();
    rows.lanes = {};
    rows.in_flight = i;
    reduces_.push_back(i);
  }

  void retire(int i) {
    const Op& op = proof_.op(i);
    Rows& rows = uses_[{op.segment, op.unit}];
    if (rows.in_flight < 0)
      return proof_.found(i, "retires a reduce that is not in flight");
    if (!proof_.precedes(rows.in_flight, i))
      proof_.found(
          i, fmt::format("does not wait for {}", proof_.name(rows.in_flight)));
    rows.in_flight = -1;
  }

  void gather(int i) {
    const int u = proof_.op(i).unit;
    if (proof_.stage() != Stage::kNone || !trainable(u))
      proof_.found(i, "gathers a gradient that is not replicated");
    if (!gathered_.emplace(u, i).second)
      proof_.found(i, "gathers a gradient for the second time");
    for (int reduce : reduces_) {
      if (proof_.op(reduce).unit == u && !proof_.precedes(reduce, i))
        proof_.found(i,
                     fmt::format("does not wait for {}", proof_.name(reduce)));
    }
    require_reduced(i, u);
  }

  void commit(int i) {
    require_reduced(i, -1);
    for (const auto& [key, rows] : uses_) {
      if (rows.in_flight >= 0)
        proof_.found(i, fmt::format("comes before {} is retired",
                                    proof_.name(rows.in_flight)));
    }
    for (const Use& use : proof_.structure().uses()) {
      if (uses_[{use.segment, use.unit}].reduces == 0)
        proof_.found(i, fmt::format("comes before the gradient of {} in {} is "
                                    "reduced",
                                    proof_.unit(use.unit).name,
                                    proof_.segment(use.segment).name));
    }
  }

  // Of unit `u`, or of all.
  void require_reduced(int i, int u) {
    for (const auto& [key, rows] : uses_) {
      if ((u < 0 || key.second == u) && !rows.runs.empty())
        proof_.found(i, fmt::format("comes before what {} made is reduced",
                                    proof_.name(rows.runs.back())));
    }
  }

  void update(int i) {
    for (const auto& [u, gather] : gathered_) {
      if (!proof_.precedes(gather, i))
        proof_.found(i,
                     fmt::format("does not wait for {}", proof_.name(gather)));
    }
  }

  void require_gathered(int u) {
    if (proof_.stage() == Stage::kNone && trainable(u) &&
        !gathered_.contains(u))
      proof_.found(fmt::format("the gradient of unit {} is never gathered",
                               proof_.unit(u).name));
  }

  ProofCase& proof_;
  std::map<Key, Rows> uses_;
  std::vector<int> reduces_;
  std::map<int, int> gathered_;  // by unit
};

}  // namespace

void prove_gradients(ProofCase& proof) { Gradients(proof).replay(); }

}  // namespace quire::engine
