// The plan: what a rank does in one step, as data. It is printed, costed,
// hashed, compared between ranks, proved (proof.h) and then executed as it
// stands; nothing decides the order of work but the plan.
//
//   forward   for segment i in order:  gather i  run i for each lane  release i
//   turn      last segment: forward, loss, backward, lane by lane  reduce
//   backward  for segment i reversed:  gather i  (recompute i)  run i for each
//                                      lane  release i  reduce i
//   commit    norm and finite flags exchanged
//   update    optimizer on own tiles, which writes master and published slice
//             in one pass
//
// As many exchanges run beside a segment as Options::prefetch says: gathers of
// the segments to come, and the reduce of the one that has run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quire/comm/record.h"
#include "quire/core/allocator.h"
#include "quire/engine/options.h"
#include "quire/engine/structure.h"
#include "quire/layout/lanes.h"

namespace quire::engine {

enum class OpKind : std::uint8_t {
  kWeights,   // exchange the lanes' weights
  kGather,    // open a unit
  kRelease,   // close it
  kForward,   // run a segment for the wave's lanes
  kTurn,      // last segment: forward, loss, in training backward; by lane
  kBackward,  // (forward again and) backward of a segment for the wave's lanes
  kReduce,    // a use's nodes to their owners, who add them
  kRetire,    // the reduce has been read by all: its rows and arrivals die

  kGatherGradients,  // the summed gradient of a unit to all ranks (stage 0)
  kCommit,           // exchange norm, loss and finite flags: the commit point
  kUpdate,           // optimizer on what the rank holds
};
std::string_view name_of(OpKind kind);

enum class StreamId : std::uint8_t { kCompute, kGather, kReduce };
std::string_view name_of(StreamId stream);

struct Op {
  OpKind kind;
  StreamId stream = StreamId::kCompute;
  int wave = -1;
  int segment = -1;
  int unit = -1;
  // Gradient rows of this use: gradient_slots in turn (stages 2 and 3), else
  // the segment's own.
  int slot = -1;
  layout::Run lanes = {};  // this rank's
  // Ops that must have finished: indices into Plan::ops, ascending.
  std::vector<int> waits = {};
  // Calls of the communicator: one for every row that moves.
  int collectives = 0;
  std::int64_t collective_bytes = 0;  // of the rows, which all ranks agree on
  std::int64_t wire_bytes = 0;        // this rank sends

  // Written by the dry run: what the rank holds after the op and at most during
  // it.
  std::int64_t held_bytes = 0;
  std::int64_t peak_bytes = 0;

  bool runs_segment() const {
    return kind == OpKind::kForward || kind == OpKind::kTurn ||
           kind == OpKind::kBackward;
  }
};

// Its layer and, if the name is another, its unit: "head (embed.wte.weight)".
std::string place_of(const Op& op, const Structure& structure);

struct PlanShape {
  int ranks = 1;
  int rank = 0;
  int lanes = 1;  // of this step or evaluation
  Options options;
};

struct Plan {
  PlanShape shape;
  bool training;
  std::vector<Op> ops;

  comm::Traffic traffic() const;  // of this rank
  // What all ranks of a run must agree on, a line each; and its hash, compared
  // before the first collective.
  std::string agreement(const Structure& structure) const;
  std::uint64_t hash(const Structure& structure) const;
  // One line per op.
  std::string to_string(const Structure& structure) const;
};

// A training step, and a forward pass over `shape.lanes` lanes with the loss's
// sums exchanged at its end.
Plan training_plan(const Structure& structure, const PlanShape& shape);
Plan evaluation_plan(const Structure& structure, const PlanShape& shape);

// How the lanes of a plan are spread over ranks and waves.
layout::Waves waves_of(const PlanShape& shape);

// The lanes of `rank` whose gradients one reduce sends: those of its wave, or
// of the whole step.
layout::Run reduced_lanes(const layout::Waves& waves, Stage stage, int wave,
                          int rank);

// Stages 2 and 3: slots of gradient rows that take turns. Where no reduce runs
// beside a backward one is enough.
int gradient_slots(const Options& options);

// The type in which a node of the lane tree travels: a leaf has been rounded to
// the wire type, a sum is fp32.
DType travels_as(const layout::Node& node, DType wire);

// Bytes of the exchanges that are not units: a rank's slice of kWeights and of
// kCommit.
inline constexpr std::int64_t kWeightsSliceBytes = 64;
inline constexpr std::int64_t kCommitSliceBytes = 8192;

}  // namespace quire::engine
