// What only all ranks' plans together can show.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "quire/engine/proof/case.h"

namespace quire::engine {
namespace {

class Together {
 public:
  Together(const Structure& structure, std::span<const Plan> plans,
           std::vector<std::string>& findings)
      : structure_(structure), plans_(plans), findings_(findings) {}

  void prove() {
    if (!shapes_fit()) return;
    for (const Plan& plan : plans_) collectives_.push_back(collectives(plan));
    for (std::size_t r = 1; r < plans_.size(); ++r) {
      if (!same_order(r)) return;
      same_ops(r);
    }
    cover_lanes();
    if (plans_.front().training) merge_lanes();
  }

 private:
  using Ops = std::vector<const Op*>;

  void found(std::string what) { findings_.push_back(std::move(what)); }

  bool shapes_fit() {
    for (std::size_t r = 0; r < plans_.size(); ++r) {
      const PlanShape& shape = plans_[r].shape;
      if (shape.ranks == static_cast<int>(plans_.size()) &&
          shape.rank == static_cast<int>(r) &&
          shape.lanes == plans_.front().shape.lanes &&
          plans_[r].training == plans_.front().training)
        continue;
      found(fmt::format("plan {} of {} is rank {}'s of {}, with {} lanes", r,
                        plans_.size(), shape.rank, shape.ranks, shape.lanes));
      return false;
    }
    return !plans_.empty();
  }

  static Ops collectives(const Plan& plan) {
    Ops ops;
    for (const Op& op : plan.ops) {
      if (op.collectives > 0) ops.push_back(&op);
    }
    return ops;
  }

  std::string name(const Ops& ops, std::size_t i) const {
    return i >= ops.size() ? "nothing" : name(*ops[i]);
  }
  std::string name(const Op& op) const {
    return fmt::format("{} {} wave {} of {} bytes", name_of(op.kind),
                       place_of(op, structure_), op.wave, op.collective_bytes);
  }

  static bool same(const Op& a, const Op& b) {
    return a.kind == b.kind && a.unit == b.unit && a.segment == b.segment &&
           a.wave == b.wave && a.slot == b.slot &&
           a.collectives == b.collectives &&
           a.collective_bytes == b.collective_bytes;
  }

  // One order over all communicators: then the first collective that is not
  // complete is one that every rank can come to.
  bool same_order(std::size_t r) {
    const Ops& zero = collectives_.front();
    const Ops& mine = collectives_[r];
    for (std::size_t i = 0; i < std::max(zero.size(), mine.size()); ++i) {
      if (i < zero.size() && i < mine.size() && same(*zero[i], *mine[i]))
        continue;
      found(fmt::format("collective {}: rank 0 has {}, rank {} has {}", i,
                        name(zero, i), r, name(mine, i)));
      return false;
    }
    return true;
  }

  // What moves nothing is the same everywhere, too, lanes or none.
  void same_ops(std::size_t r) {
    const auto& zero = plans_.front().ops;
    const auto& mine = plans_[r].ops;
    const auto [at, other] =
        std::mismatch(zero.begin(), zero.end(), mine.begin(), mine.end(), same);
    if (at == zero.end() && other == mine.end()) return;
    const auto text = [&](const std::vector<Op>& ops, const auto& op) {
      return op == ops.end() ? "nothing" : name(*op);
    };
    found(fmt::format("op {}: rank 0 has {}, rank {} has {}", at - zero.begin(),
                      text(zero, at), r, text(mine, other)));
  }

  void cover_lanes() {
    std::vector<int> times(
        static_cast<std::size_t>(plans_.front().shape.lanes));
    for (const Plan& plan : plans_) {
      for (const Op& op : plan.ops) {
        if (op.kind != OpKind::kTurn) continue;
        for (int lane = op.lanes.begin; lane < op.lanes.end; ++lane)
          ++times[static_cast<std::size_t>(lane)];
      }
    }
    for (std::size_t lane = 0; lane < times.size(); ++lane) {
      if (times[lane] != 1)
        found(fmt::format("lane {} is run by {} ranks; expected one", lane,
                          times[lane]));
    }
  }

  // The owners of a use add its lanes from left to right, over all reduces.
  void merge_lanes() {
    std::map<std::pair<int, int>, int> next;  // by use, the lane that is due
    for (std::size_t i = 0; i < collectives_.front().size(); ++i) {
      const Op& op = *collectives_.front()[i];
      if (op.kind != OpKind::kReduce) continue;
      int& due = next[{op.segment, op.unit}];
      for (std::size_t r = 0; r < plans_.size(); ++r) {
        const layout::Run& lanes = collectives_[r][i]->lanes;
        if (lanes.empty()) continue;
        if (lanes.begin != due)
          found(
              fmt::format("collective {}, {}: rank {} sends lane {}; lane {} "
                          "is due",
                          i, name(collectives_[r], i), r, lanes.begin, due));
        due = lanes.end;
      }
    }
    for (const auto& [use, due] : next) {
      if (due != plans_.front().shape.lanes)
        found(fmt::format("{} of {} is reduced up to lane {} of {}",
                          structure_.unit(use.second).name,
                          structure_.segment(use.first).name, due,
                          plans_.front().shape.lanes));
    }
  }

  const Structure& structure_;
  std::span<const Plan> plans_;
  std::vector<std::string>& findings_;
  std::vector<Ops> collectives_;  // of every rank, over all communicators
};

}  // namespace

void prove_together(const Structure& structure, std::span<const Plan> plans,
                    std::vector<std::string>& findings) {
  Together(structure, plans, findings).prove();
}

}  // namespace quire::engine
