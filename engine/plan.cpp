#include "quire/engine/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "quire/core/bytes.h"
#include "quire/core/hash.h"

namespace quire::engine {
namespace {

struct Visit {
  OpKind kind;
  int wave;
  int segment;
};

// The order of segment runs over all waves.
std::vector<Visit> visits_of(const Structure& structure,
                             const layout::Waves& waves, const Plan& plan) {
  std::vector<Visit> visits;
  for (int wave = 0; wave < waves.count(); ++wave) {
    for (int s = 0; s < structure.last(); ++s)
      visits.push_back({OpKind::kForward, wave, s});
    visits.push_back({OpKind::kTurn, wave, structure.last()});
    if (!plan.training) continue;
    for (int s = structure.last() - 1; s >= structure.first_trainable; --s) {
      visits.push_back({OpKind::kBackward, wave, s});
    }
  }
  return visits;
}

class Builder {
 public:
  // `plan`: without ops.
  Builder(const Structure& structure, Plan plan)
      : structure_(structure),
        plan_(std::move(plan)),
        waves_(waves_of(plan_.shape)),
        visits_(visits_of(structure, waves_, plan_)),
        opened_by_(structure.units.size(), -1),
        released_by_(structure.units.size(), -1),
        ahead_(prefetch()) {}

  Plan build() {
    if (plan_.training) exchange(OpKind::kWeights, kWeightsSliceBytes);
    for (std::size_t k = 0; k < visits_.size(); ++k) visit(k);
    if (plan_.training) finish_gradients();
    exchange(OpKind::kCommit, kCommitSliceBytes);
    if (plan_.training)
      add({.kind = OpKind::kUpdate, .waits = gradient_gathers_});
    return std::move(plan_);
  }

 private:
  Stage stage() const { return plan_.shape.options.stage; }
  int ranks() const { return plan_.shape.ranks; }
  int prefetch() const { return plan_.shape.options.prefetch; }
  const layout::Unit& unit(int u) const { return structure_.unit(u); }
  const std::vector<int>& units_of(std::size_t visit) const {
    return structure_.segment(visits_[visit].segment).units;
  }

  int add(Op op) {
    std::ranges::sort(op.waits);
    plan_.ops.push_back(std::move(op));
    return static_cast<int>(plan_.ops.size()) - 1;
  }

  void exchange(OpKind kind, std::int64_t slice_bytes) {
    add({.kind = kind,
         .collectives = 1,
         .collective_bytes = slice_bytes * ranks(),
         .wire_bytes = slice_bytes * (ranks() - 1)});
  }

  // A gather that the next run waits for is launched before the reduce of this
  // one; without prefetch after it, so that nothing runs beside a segment.
  void visit(std::size_t k) {
    const Visit& v = visits_[k];
    gather(k, behind(k, ahead_));
    run(k);
    retire();
    ahead_ = std::max(0, prefetch() - (reduces(v) ? 1 : 0));
    for (int u : units_of(k)) release_unless_needed(u, k + 1);
    if (prefetch() > 0) gather(k + 1, std::min(k + 2, visits_.size()));
    if (makes_gradients(v)) reduce(v);
    if (prefetch() == 0) retire();
  }

  // What visits [begin, end) read.
  void gather(std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      for (int u : units_of(k)) gather(u);
    }
  }

  bool makes_gradients(const Visit& v) const {
    return plan_.training && v.kind != OpKind::kForward;
  }

  // Whether a reduce starts when the visit has ended.
  bool reduces(const Visit& v) const {
    return makes_gradients(v) &&
           (reduces_every_wave(stage()) || v.wave == waves_.count() - 1);
  }

  void gather(int u) {
    const auto index = static_cast<std::size_t>(u);
    if (stage() == Stage::kNone || opened_by_[index] >= 0) return;
    const std::int64_t row =
        unit(u).full() * size_of(plan_.shape.options.precision.compute);
    std::vector<int> waits;
    if (released_by_[index] >= 0) waits.push_back(released_by_[index]);
    opened_by_[index] = add(
        {.kind = OpKind::kGather,
         .stream = StreamId::kGather,
         .unit = u,
         .waits = std::move(waits),
         .collectives =
             unit(u).trainable.empty() + unit(u).frozen.empty() == 0 ? 2 : 1,
         .collective_bytes = row,
         .wire_bytes = row / ranks() * (ranks() - 1)});
  }

  void run(std::size_t k) {
    const Visit& v = visits_[k];
    Op op{.kind = v.kind,
          .wave = v.wave,
          .segment = v.segment,
          .lanes = waves_.run(v.wave, plan_.shape.rank)};
    if (makes_gradients(v)) op.slot = slot_of(v);
    for (int u : units_of(k)) {
      if (opened_by_[static_cast<std::size_t>(u)] >= 0)
        op.waits.push_back(opened_by_[static_cast<std::size_t>(u)]);
    }
    produced_by_ = add(std::move(op));
  }

  std::size_t behind(std::size_t k, int ahead) const {
    return std::min(visits_.size(), k + static_cast<std::size_t>(ahead) + 1);
  }

  // What the next visits read again stays open: what is gathered ahead of them
  // anyway, and over the turn the last block, beside which little is open.
  void release_unless_needed(int u, std::size_t next_visit) {
    if (stage() != Stage::kParameters) return;
    const std::size_t end = behind(next_visit, std::max(ahead_, 1));
    for (std::size_t next = next_visit; next < end; ++next) {
      if (std::ranges::find(units_of(next), u) != units_of(next).end()) return;
    }
    const auto index = static_cast<std::size_t>(u);
    released_by_[index] = add({.kind = OpKind::kRelease, .unit = u});
    opened_by_[index] = -1;
  }

  // Where a use is reduced at once slots take turns, else every segment has its
  // own over all waves.
  int slot_of(const Visit& v) const {
    return reduces_every_wave(stage())
               ? static_cast<int>(backwards_ %
                                  gradient_slots(plan_.shape.options))
               : v.segment;
  }

  void reduce(const Visit& v) {
    const int slot = slot_of(v);
    ++backwards_;
    if (!reduces(v)) return;
    for (int u : structure_.segment(v.segment).units) {
      if (!unit(u).trainable.empty()) reduce_use(v, u, slot);
    }
  }

  void reduce_use(const Visit& v, int u, int slot) {
    const layout::Run lanes =
        reduced_lanes(waves_, stage(), v.wave, plan_.shape.rank);
    in_flight_.push_back(add(
        {.kind = OpKind::kReduce,
         .stream = StreamId::kReduce,
         .wave = v.wave,
         .segment = v.segment,
         .unit = u,
         .slot = slot,
         .lanes = lanes,
         .waits = {produced_by_},
         .collectives = 1,
         .collective_bytes = unit(u).trainable.full() * size_of(DType::kF32),
         .wire_bytes = wire_bytes(lanes, unit(u).trainable.slice())}));
  }

  std::int64_t wire_bytes(const layout::Run& lanes, std::int64_t slice) const {
    std::int64_t bytes = 0;
    for (const layout::Node& node :
         layout::whole_nodes(lanes, plan_.shape.lanes)) {
      bytes += slice *
               size_of(travels_as(node, plan_.shape.options.precision.wire)) *
               (ranks() - 1);
    }
    return bytes;
  }

  void retire() {
    for (int reduce : in_flight_) {
      const Op& op = plan_.ops[static_cast<std::size_t>(reduce)];
      add({.kind = OpKind::kRetire,
           .wave = op.wave,
           .segment = op.segment,
           .unit = op.unit,
           .slot = op.slot,
           .waits = {reduce}});
    }
    in_flight_.clear();
  }

  void finish_gradients() {
    retire();
    if (stage() != Stage::kNone) return;
    for (int u = 0; u < static_cast<int>(structure_.units.size()); ++u) {
      const layout::Row& row = unit(u).trainable;
      if (row.empty()) continue;
      gradient_gathers_.push_back(add(
          {.kind = OpKind::kGatherGradients,
           .stream = StreamId::kReduce,
           .unit = u,
           .collectives = 1,
           .collective_bytes = row.full() * size_of(DType::kF32),
           .wire_bytes = row.slice() * size_of(DType::kF32) * (ranks() - 1)}));
    }
  }

  const Structure& structure_;
  Plan plan_;
  layout::Waves waves_;
  std::vector<Visit> visits_;
  // Of every unit: the gather that holds it open, -1: closed.
  std::vector<int> opened_by_;
  std::vector<int> released_by_;  // its latest release, -1: none
  std::vector<int> in_flight_;    // reduces that are not retired
  std::vector<int> gradient_gathers_;
  int produced_by_ = -1;  // the latest run
  // Segments beyond the one that runs whose units may be open: a reduce in
  // flight takes the place of one, as its row and arrivals are as large.
  int ahead_;
  std::int64_t backwards_ = 0;  // visits that made gradients so far
};

// What all ranks must agree on, as text: hashed, and compared line by line to
// name a difference.
std::string agreement(const Structure& structure, const Plan& plan) {
  const Options& o = plan.shape.options;
  std::string text = fmt::format(
      "ranks {} lanes {} stage {} wave {} prefetch {} seed {} compute {} wire "
      "{}\n",
      plan.shape.ranks, plan.shape.lanes, static_cast<int>(o.stage), o.wave,
      o.prefetch, o.seed, name_of(o.precision.compute),
      name_of(o.precision.wire));
  for (const layout::Unit& unit : structure.units) {
    text += fmt::format("unit {} trainable {} frozen {}\n", unit.name,
                        unit.trainable.full(), unit.frozen.full());
  }
  for (const Op& op : plan.ops) {
    text += fmt::format("{} {} wave {} bytes {}\n", name_of(op.kind),
                        place_of(op, structure), op.wave, op.collective_bytes);
  }
  return text;
}

}  // namespace

std::string_view name_of(OpKind kind) {
  switch (kind) {
    case OpKind::kWeights:
      return "weights";
    case OpKind::kGather:
      return "gather";
    case OpKind::kRelease:
      return "release";
    case OpKind::kForward:
      return "forward";
    case OpKind::kTurn:
      return "turn";
    case OpKind::kBackward:
      return "backward";
    case OpKind::kReduce:
      return "reduce";
    case OpKind::kRetire:
      return "retire";
    case OpKind::kGatherGradients:
      return "gather gradients";
    case OpKind::kCommit:
      return "commit";
    case OpKind::kUpdate:
      return "update";
  }
  return "?";
}

std::string_view name_of(StreamId stream) {
  switch (stream) {
    case StreamId::kCompute:
      return "compute";
    case StreamId::kGather:
      return "gather";
    case StreamId::kReduce:
      return "reduce";
  }
  return "?";
}

std::string place_of(const Op& op, const Structure& structure) {
  std::string text;
  if (op.segment >= 0) text += structure.segment(op.segment).name;
  if (op.unit < 0) return text;
  const std::string& unit = structure.unit(op.unit).name;
  if (unit != text) text += text.empty() ? unit : fmt::format(" ({})", unit);
  return text;
}

int gradient_slots(const Options& options) {
  return options.prefetch > 0 ? 2 : 1;
}

DType travels_as(const layout::Node& node, DType wire) {
  return node.level == 0 ? wire : DType::kF32;
}

layout::Waves waves_of(const PlanShape& shape) {
  const auto order = reduces_every_wave(shape.options.stage)
                         ? layout::Waves::Order::kAcrossRanks
                         : layout::Waves::Order::kAlongRank;
  return {shape.lanes, shape.ranks, shape.options.wave, order};
}

layout::Run reduced_lanes(const layout::Waves& waves, Stage stage, int wave,
                          int rank) {
  if (reduces_every_wave(stage)) return waves.run(wave, rank);
  layout::Run all = waves.run(0, rank);
  for (int w = 1; w < waves.count(); ++w) {
    if (!waves.run(w, rank).empty()) all.end = waves.run(w, rank).end;
  }
  return all;
}

Plan training_plan(const Structure& structure, const PlanShape& shape) {
  return Builder(structure, {.shape = shape, .training = true, .ops = {}})
      .build();
}

Plan evaluation_plan(const Structure& structure, const PlanShape& shape) {
  return Builder(structure, {.shape = shape, .training = false, .ops = {}})
      .build();
}

comm::Traffic Plan::traffic() const {
  comm::Traffic traffic;
  for (const Op& op : ops) traffic += {op.collectives, op.wire_bytes};
  return traffic;
}

std::string Plan::agreement(const Structure& structure) const {
  return engine::agreement(structure, *this);
}

std::uint64_t Plan::hash(const Structure& structure) const {
  return hash64(agreement(structure));
}

std::string Plan::to_string(const Structure& structure) const {
  std::string text = fmt::format(
      "{:>4}  {:<8} {:<16} {:<28} {:>4}  {:<9} {:>12} {:>12} {:>12}  {}\n",
      "op", "stream", "what", "where", "wave", "lanes", "wire", "held", "peak",
      "waits for");
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op& op = ops[i];
    const std::string lanes =
        op.lanes.empty()
            ? "-"
            : fmt::format("{}-{}", op.lanes.begin, op.lanes.end - 1);
    text += fmt::format(
        "{:>4}  {:<8} {:<16} {:<28} {:>4}  {:<9} {:>12} {:>12} {:>12}  {}\n", i,
        name_of(op.stream), name_of(op.kind), place_of(op, structure),
        op.wave < 0 ? "-" : std::to_string(op.wave), lanes,
        format_bytes(op.wire_bytes), format_bytes(op.held_bytes),
        format_bytes(op.peak_bytes), fmt::join(op.waits, " "));
  }
  return text;
}

}  // namespace quire::engine
