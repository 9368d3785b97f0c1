// One rank's parameters: the shards that stay, and the units that are open. A
// closed unit cannot be read.
//
//   closed --gather--> open (readable once the gather's event has passed)
//   --release--> closed
//
// With fp32 compute the published value is the master. With bf16 a private fp32
// master stands beside the published slice. In a mapped world the published
// rows of a host are one memory; each rank is still charged what slots would
// take: its slice, and every open unit in full. Used by the rank's thread.
#pragma once

#include <cstdint>
#include <vector>

#include "quire/comm/communicator.h"
#include "quire/core/allocator.h"
#include "quire/engine/options.h"
#include "quire/engine/structure.h"
#include "quire/nn/model.h"

namespace quire::engine {

// Elements [first, first + numel) of a parameter that this rank holds for good.
struct HeldRange {
  int parameter;
  int unit;
  bool trainable;
  std::int64_t first;
  // Within the rank's part of the row: of states and gradients, too.
  std::int64_t offset;
  Tensor published;  // in the compute type
  // fp32; published itself with fp32 compute; undefined for a frozen parameter
  // in bf16.
  Tensor master;
};

class ParameterStore {
 public:
  // Collective where the world is mapped. All are borrowed.
  struct Setup {
    const nn::Model* model;
    const Structure* structure;
    const Options* options;
    comm::Communicator* communicator;
    Allocator* allocator;
    Stream* stream;  // of the rank's own arithmetic
  };
  explicit ParameterStore(const Setup& setup);

  // Sets every held element to its initial value: a function of (seed, name,
  // element) alone.
  void initialise();
  // Rounds masters into the published values, after masters were written from
  // outside.
  void publish();

  // Allocates or charges the unit's rows now and queues their all-gathers.
  void gather(int unit, comm::Communicator& communicator,
              const comm::Call& call);
  void release(int unit);
  // A view of the open unit. Throws UsageError naming the parameter if its unit
  // is closed.
  Tensor value(int parameter) const;

  // Elements of a unit's trainable row that this rank updates: its slice, or
  // the row at stage 0.
  std::int64_t held_elements(int unit) const;
  // What this rank updates, in the order of units; with stage 0 that is
  // everything.
  std::vector<HeldRange> held() const;
  // What this rank answers for in a checkpoint: every element of the model
  // belongs to exactly one rank.
  std::vector<HeldRange> owned() const;

 private:
  struct RowState {
    const layout::Row* row = nullptr;
    int unit = 0;
    bool trainable = false;
    Tensor home;       // the whole row, where it stays whole or is mapped
    Tensor published;  // what this rank holds: its slice, or the row at stage 0
    Tensor master;
    Tensor open;  // the whole row while readable
    Charge home_charge;
    Charge open_charge;
  };
  enum class Which { kHeld, kOwned };

  bool whole() const { return setup_.options->stage != Stage::kParameters; }
  bool replicated() const { return setup_.options->stage == Stage::kNone; }
  DType compute() const { return setup_.options->precision.compute; }
  RowState make_row(const layout::Row& row, int unit);
  void place(RowState& state);
  void open(RowState& state, comm::Communicator& communicator,
            const comm::Call& call);
  void fill(const HeldRange& range);
  std::vector<HeldRange> ranges(Which which) const;
  void append_ranges(const RowState& state, Which which,
                     std::vector<HeldRange>& out) const;
  const RowState& row_of(int parameter) const;

  Setup setup_;
  // Trainable and frozen rows that exist, in the order of units.
  std::vector<RowState> rows_;
  std::vector<std::vector<int>> unit_rows_;  // of every unit, into rows_
};

}  // namespace quire::engine
