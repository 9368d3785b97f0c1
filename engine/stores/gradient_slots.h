// Memory of the lanes' gradient rows. In a mapped world a rank's rows lie where
// its peers can read them, at places that follow from the plan alone, so that
// nobody has to be told where a peer's row is.
#pragma once

#include <cstdint>
#include <vector>

#include "quire/comm/communicator.h"
#include "quire/core/allocator.h"
#include "quire/engine/options.h"
#include "quire/engine/plan.h"
#include "quire/engine/structure.h"

namespace quire::engine {

// The memory of one row and what it is counted as. Empty by default.
struct GradientRow {
  Tensor tensor;
  Charge charge;

  void clear() { *this = GradientRow(); }
};

class GradientSlots {
 public:
  struct Setup {
    const Structure* structure;
    PlanShape shape;
    comm::Communicator* communicator;
    Allocator* allocator;
  };
  explicit GradientSlots(const Setup& setup);
  // Before the first row is taken. Collective where the world is mapped.
  void allocate();

  // The place of one row: the use's k-th node in one of its slots.
  struct Place {
    Use use;
    int slot;   // Op::slot
    int depth;  // from the left
    DType dtype;
  };
  // A row of this rank, counted from now on, uninitialised.
  GradientRow take(const Place& place);
  // What arrives here of a row of `rank`: this rank's slice of it. In a mapped
  // world a view of the sender's memory, else memory of its own; counted either
  // way.
  GradientRow arrival(const Place& place, int rank);

 private:
  std::int64_t row_elements(int unit) const;
  std::int64_t bytes_of(int unit) const;  // of all nodes of one use
  std::int64_t offset(const Place& place) const;
  Tensor row_at(const Place& place, int rank) const;
  void lay_out();

  Setup setup_;
  int depth_;  // nodes that a rank can have at once for one use
  // Of every use within its slot, by segment * units + unit.
  std::vector<std::int64_t> use_base_;
  // Stages 2 and 3: of one of those in turn; else of all uses.
  std::int64_t slot_bytes_ = 0;
  std::int64_t rank_bytes_ = 0;
  Tensor memory_;  // all ranks', if mapped
};

}  // namespace quire::engine
