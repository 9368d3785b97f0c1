// When units are open, and whether the plan says so in time.
#include <fmt/format.h>

#include "quire/engine/proof/case.h"

namespace quire::engine {
namespace {

class Units {
 public:
  explicit Units(ProofCase& proof)
      : proof_(proof), states_(proof.structure().units.size()) {}

  void replay() {
    for (int i = 0; i < proof_.count(); ++i) {
      const Op& op = proof_.op(i);
      if (op.kind == OpKind::kGather) gather(i, op.unit);
      if (op.kind == OpKind::kRelease) release(i, op.unit);
      if (!op.runs_segment()) continue;
      for (int u : proof_.segment(op.segment).units) read(i, u);
    }
    if (proof_.stage() == Stage::kParameters) require_closed();
  }

 private:
  struct State {
    int opened_by = -1;  // -1: closed
    int released_by = -1;
    std::vector<int> readers;  // since it was opened
  };
  State& state(int u) { return states_[static_cast<std::size_t>(u)]; }

  void gather(int i, int u) {
    State& unit = state(u);
    if (proof_.stage() == Stage::kNone) {
      proof_.found(i, "gathers a unit that is whole on every rank");
    } else if (unit.opened_by >= 0) {
      proof_.found(i, fmt::format("gathers a unit that is open since {}",
                                  proof_.name(unit.opened_by)));
    }
    if (unit.released_by >= 0 && !proof_.precedes(unit.released_by, i))
      proof_.found(i, fmt::format("does not wait for {}",
                                  proof_.name(unit.released_by)));
    unit.opened_by = i;
    unit.readers.clear();
  }

  void read(int i, int u) {
    if (proof_.stage() == Stage::kNone) return;
    State& unit = state(u);
    const std::string& name = proof_.unit(u).name;
    if (unit.opened_by < 0) {
      proof_.found(i, fmt::format("reads unit {}, which is closed", name));
    } else if (!proof_.precedes(unit.opened_by, i)) {
      proof_.found(i, fmt::format("reads unit {} and does not wait for {}",
                                  name, proof_.name(unit.opened_by)));
    }
    unit.readers.push_back(i);
  }

  void release(int i, int u) {
    State& unit = state(u);
    if (proof_.stage() != Stage::kParameters)
      proof_.found(i, "releases a unit that stays whole");
    if (unit.opened_by < 0) {
      proof_.found(i, "releases a unit that is closed");
    } else if (!proof_.precedes(unit.opened_by, i)) {
      proof_.found(
          i, fmt::format("does not wait for {}", proof_.name(unit.opened_by)));
    }
    for (int reader : unit.readers) {
      if (!proof_.precedes(reader, i))
        proof_.found(i,
                     fmt::format("does not wait for {}", proof_.name(reader)));
    }
    unit.opened_by = -1;
    unit.released_by = i;
  }

  void require_closed() {
    for (const State& unit : states_) {
      if (unit.opened_by >= 0)
        proof_.found(unit.opened_by, "opens a unit that is never released");
    }
  }

  ProofCase& proof_;
  std::vector<State> states_;
};

}  // namespace

void prove_units(ProofCase& proof) { Units(proof).replay(); }

}  // namespace quire::engine
