// What the parts of a proof share.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quire/engine/plan.h"
#include "quire/engine/proof/plan_order.h"
#include "quire/engine/structure.h"

namespace quire::engine {

// One rank's plan, and where findings go. Borrows all three.
class ProofCase {
 public:
  ProofCase(const Structure& structure, const Plan& plan,
            std::vector<std::string>& findings)
      : structure_(&structure),
        plan_(&plan),
        order_(plan),
        findings_(&findings) {}

  const Structure& structure() const { return *structure_; }
  const Plan& plan() const { return *plan_; }
  const Options& options() const { return plan_->shape.options; }
  Stage stage() const { return options().stage; }
  bool reduces_at_once() const { return reduces_every_wave(stage()); }
  int count() const { return static_cast<int>(plan_->ops.size()); }
  const Op& op(int index) const {
    return plan_->ops[static_cast<std::size_t>(index)];
  }
  const Segment& segment(int s) const { return structure_->segment(s); }
  const layout::Unit& unit(int u) const { return structure_->unit(u); }
  bool precedes(int a, int b) const { return order_.precedes(a, b); }

  // "reduce h.3 (op 17)".
  std::string name(int index) const;
  // A violation at an op, or of the plan as a whole.
  void found(int index, const std::string& what);
  void found(const std::string& what);

 private:
  const Structure* structure_;
  const Plan* plan_;
  PlanOrder order_;
  std::vector<std::string>* findings_;
};

// Each replays the plan for its subject.
void prove_frame(ProofCase& proof);
void prove_units(ProofCase& proof);
void prove_lanes(ProofCase& proof);
void prove_gradients(ProofCase& proof);
void prove_bytes(ProofCase& proof);

// Of plans that are each well-formed.
void prove_together(const Structure& structure, std::span<const Plan> plans,
                    std::vector<std::string>& findings);

}  // namespace quire::engine
