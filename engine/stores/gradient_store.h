// The gradients of one step: a row for every lane and use while its backward
// runs, nodes of the lane tree, and in the end this rank's sum.
//
//   for each lane:  begin_lane  gradient...  end_lane
//   reduce  retire
//   sum
//
// end_lane rounds the leaf to the wire type and merges it; reduce sends nodes
// to their owners, who add them; sum is there after the last use's reduce.
// Used by the rank's thread; arithmetic of reduce runs on the call's stream.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quire/autograd/tape.h"
#include "quire/comm/communicator.h"
#include "quire/engine/stores/gradient_slots.h"
#include "quire/nn/model.h"

namespace quire::engine {

class GradientStore {
 public:
  struct Setup {
    const nn::Model* model;
    const Structure* structure;
    PlanShape shape;
    comm::Communicator* communicator;  // for memory
    Allocator* allocator;
    Stream* stream;  // of the rank's own arithmetic
  };
  explicit GradientStore(const Setup& setup);
  // Before the first lane of the first step; later calls do nothing. Who only
  // evaluates has no memory of gradients. Collective where the world is mapped.
  void prepare();

  // A lane's backward through a segment starts: rows for the segment's
  // trainable units.
  void begin_lane(int segment, int slot);
  // Where a contribution to a parameter of the current segment goes.
  autograd::ParameterSource::Gradient gradient(int parameter);
  // It is finished: what nothing contributed to is zero.
  void end_lane(int lane);

  // The nodes of `op` (a kReduce) travel, and their owners add what they can.
  void reduce(const Op& op, comm::Communicator& communicator, Stream& stream);
  void retire(const Op& op);
  // Stage 0: the sum goes to all ranks.
  void gather(int unit, comm::Communicator& communicator,
              const comm::Call& call);

  // d(loss)/d(row) of what this rank updates (ParameterStore::held_elements),
  // fp32; and its own slice of it.
  Tensor sum(int unit) const;
  Tensor own_sum(int unit) const;
  // The sums die.
  void clear();

 private:
  struct Node {
    layout::Node node;
    GradientRow row;
  };
  // What one use has on this rank.
  struct UseState {
    Use use;
    int slot = -1;
    GradientRow working;        // of the lane in progress
    std::vector<bool> written;  // its segments that something contributed to
    std::vector<Node> stack;    // of own lanes, left to right
    // As owner: slices, left to right; in the end the root.
    std::vector<Node> pending;
    // In flight: what the reduce reads.
    std::vector<GradientRow> sent;
    std::vector<GradientRow> arrived;
    std::vector<GradientRow> consumed;
  };
  struct UnitState {
    int uses = 0;
    int complete = 0;
    GradientRow sum;  // [held elements]
  };
  // The inputs of one addition of slices at their owner.
  struct Slices {
    std::vector<layout::Node> nodes;
    std::vector<Tensor> tensors;
  };

  bool replicated() const { return setup_.shape.options.stage == Stage::kNone; }
  const layout::Row& row(int unit) const {
    return setup_.structure->unit(unit).trainable;
  }
  std::int64_t slice(int unit) const { return row(unit).slice(); }
  UseState& state(const Use& use);
  void zero_unwritten(UseState& state);
  void push_leaf(UseState& state, int lane);
  std::vector<Tensor> send(UseState& state, const Op& op);
  std::vector<comm::Arrival> receive(UseState& state, const Op& op);
  Slices slices(const UseState& state, const Op& op,
                std::span<const Tensor> rows) const;
  void add_slices(UseState& state, const Slices& slices, Stream& stream);
  void finish_use(UseState& state, Stream& stream);
  void add_roots(UseState& state, Stream& stream);
  // The roots of a unit's uses, the last segment's first.
  std::vector<GradientRow> take_roots(int unit);
  void make_sum(int unit);
  std::vector<layout::Node> nodes_of(const Op& op, int rank) const;
  Tensor own_slice(const Tensor& row_tensor, int unit) const;

  Setup setup_;
  layout::Waves waves_;
  std::vector<UseState> uses_;
  GradientSlots slots_;
  std::vector<UnitState> units_;
  // Stage 0 in a mapped world: every unit's row, all ranks' memory.
  bool prepared_ = false;
  std::vector<Tensor> mapped_sums_;
  std::vector<UseState*> current_;  // of the lane in progress
};

}  // namespace quire::engine
