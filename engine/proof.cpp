#include "quire/engine/proof.h"

#include <fmt/format.h>

#include "quire/core/error.h"
#include "quire/engine/proof/case.h"

namespace quire::engine {
namespace {

bool is_index(int value, std::size_t count) {
  return value >= 0 && value < static_cast<int>(count);
}

bool needs_segment(OpKind kind) {
  return kind == OpKind::kForward || kind == OpKind::kTurn ||
         kind == OpKind::kBackward || kind == OpKind::kReduce ||
         kind == OpKind::kRetire;
}

bool needs_unit(OpKind kind) {
  return kind == OpKind::kGather || kind == OpKind::kRelease ||
         kind == OpKind::kReduce || kind == OpKind::kRetire ||
         kind == OpKind::kGatherGradients;
}

StreamId stream_of(OpKind kind) {
  switch (kind) {
    case OpKind::kGather:
      return StreamId::kGather;
    case OpKind::kReduce:
    case OpKind::kGatherGradients:
      return StreamId::kReduce;
    default:
      return StreamId::kCompute;
  }
}

// What is wrong with an op by itself; empty: nothing.
std::string malformed(const Structure& structure, const Plan& plan, int index) {
  const Op& op = plan.ops[static_cast<std::size_t>(index)];
  for (int wait : op.waits) {
    if (wait < 0 || wait >= index)
      return fmt::format("waits for op {}, which does not come before it",
                         wait);
  }
  if (needs_segment(op.kind) &&
      !is_index(op.segment, structure.segments.size()))
    return fmt::format("segment {} does not exist", op.segment);
  if (needs_unit(op.kind) && !is_index(op.unit, structure.units.size()))
    return fmt::format("unit {} does not exist", op.unit);
  if (op.lanes.begin < 0 || op.lanes.begin > op.lanes.end ||
      op.lanes.end > plan.shape.lanes)
    return fmt::format("lanes [{}, {}) of {}", op.lanes.begin, op.lanes.end,
                       plan.shape.lanes);
  if (op.stream != stream_of(op.kind))
    return fmt::format("is on stream {}; expected {}", name_of(op.stream),
                       name_of(stream_of(op.kind)));
  return {};
}

// Indices are indices: what follows may use them.
bool well_formed(const Structure& structure, const Plan& plan,
                 std::vector<std::string>& findings) {
  const std::size_t before = findings.size();
  for (int i = 0; i < static_cast<int>(plan.ops.size()); ++i) {
    const std::string what = malformed(structure, plan, i);
    if (what.empty()) continue;
    findings.push_back(fmt::format(
        "rank {}, {} (op {}): {}", plan.shape.rank,
        name_of(plan.ops[static_cast<std::size_t>(i)].kind), i, what));
  }
  return findings.size() == before;
}

// True if the plan is well-formed, proved or not.
bool prove_alone(const Structure& structure, const Plan& plan,
                 std::vector<std::string>& findings) {
  if (!well_formed(structure, plan, findings)) return false;
  ProofCase proof(structure, plan, findings);
  prove_frame(proof);
  prove_units(proof);
  prove_lanes(proof);
  if (plan.training) prove_gradients(proof);
  prove_bytes(proof);
  return true;
}

}  // namespace

std::string ProofCase::name(int index) const {
  const std::string place = place_of(op(index), *structure_);
  return fmt::format("{}{}{} (op {})", name_of(op(index).kind),
                     place.empty() ? "" : " ", place, index);
}

void ProofCase::found(int index, const std::string& what) {
  found(fmt::format("{} {}", name(index), what));
}

void ProofCase::found(const std::string& what) {
  findings_->push_back(fmt::format("rank {}, {}", plan_->shape.rank, what));
}

std::vector<std::string> prove(const Structure& structure, const Plan& plan) {
  std::vector<std::string> findings;
  prove_alone(structure, plan, findings);
  return findings;
}

std::vector<std::string> prove(const Structure& structure,
                               std::span<const Plan> plans) {
  std::vector<std::string> findings;
  bool usable = true;
  for (const Plan& plan : plans)
    usable = prove_alone(structure, plan, findings) && usable;
  if (usable) prove_together(structure, plans, findings);
  return findings;
}

Plan proved(Plan plan, const Structure& structure) {
  const std::vector<std::string> findings = prove(structure, plan);
  if (findings.empty()) return plan;
  throw UsageError(
      fmt::format("the plan cannot be proved: {}; {} such findings; report the "
                  "configuration",
                  findings.front(), findings.size()));
}

}  // namespace quire::engine
