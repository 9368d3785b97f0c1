// What every collective moves, counted anew.
#include <fmt/format.h>

#include <algorithm>

#include "quire/engine/proof/case.h"

namespace quire::engine {
namespace {

struct Bytes {
  int collectives = 0;
  std::int64_t row = 0;   // all ranks agree on
  std::int64_t wire = 0;  // this rank sends
};

// Bytes of one element of the largest whole nodes of `lanes`, from left to
// right: a node of 2^level lanes begins at a multiple of it, and is whole if
// those of its lanes that exist are there. A single lane travels in the wire
// type, a sum in fp32.
std::int64_t node_bytes(const layout::Run& lanes, std::int64_t existing,
                        DType wire) {
  std::int64_t bytes = 0;
  std::int64_t begin = lanes.begin;
  while (begin < lanes.end) {
    std::int64_t end = begin + 1;
    for (std::int64_t size = 2; begin % size == 0 && size < 2 * existing;
         size *= 2) {
      const std::int64_t node_end = std::min(begin + size, existing);
      if (node_end <= lanes.end) end = node_end;
    }
    bytes += end - begin == 1 ? size_of(wire) : size_of(DType::kF32);
    begin = end;
  }
  return bytes;
}

Bytes exchange(std::int64_t slice_bytes, int ranks) {
  return {1, slice_bytes * ranks, slice_bytes * (ranks - 1)};
}

Bytes gather(const layout::Unit& unit, DType compute, int ranks) {
  Bytes bytes;
  for (const layout::Row* row : {&unit.trainable, &unit.frozen}) {
    if (row->empty()) continue;
    ++bytes.collectives;
    bytes.row += row->slice() * ranks * size_of(compute);
    bytes.wire += row->slice() * (ranks - 1) * size_of(compute);
  }
  return bytes;
}

Bytes expected(const ProofCase& proof, const Op& op) {
  const PlanShape& shape = proof.plan().shape;
  const Precision& precision = shape.options.precision;
  switch (op.kind) {
    case OpKind::kWeights:
      return exchange(kWeightsSliceBytes, shape.ranks);
    case OpKind::kCommit:
      return exchange(kCommitSliceBytes, shape.ranks);
    case OpKind::kGather:
      return gather(proof.unit(op.unit), precision.compute, shape.ranks);
    case OpKind::kGatherGradients:
      return exchange(
          proof.unit(op.unit).trainable.slice() * size_of(DType::kF32),
          shape.ranks);
    case OpKind::kReduce: {
      const std::int64_t slice = proof.unit(op.unit).trainable.slice();
      Bytes bytes = exchange(slice * size_of(DType::kF32), shape.ranks);
      bytes.wire = slice * node_bytes(op.lanes, shape.lanes, precision.wire) *
                   (shape.ranks - 1);
      return bytes;
    }
    default:
      return {};
  }
}

}  // namespace

void prove_bytes(ProofCase& proof) {
  for (int i = 0; i < proof.count(); ++i) {
    const Op& op = proof.op(i);
    const Bytes bytes = expected(proof, op);
    if (op.collectives != bytes.collectives)
      proof.found(i, fmt::format("has {} collectives; expected {}",
                                 op.collectives, bytes.collectives));
    if (op.collective_bytes != bytes.row)
      proof.found(i, fmt::format("has rows of {} bytes; expected {}",
                                 op.collective_bytes, bytes.row));
    if (op.wire_bytes != bytes.wire)
      proof.found(i, fmt::format("sends {} bytes; expected {}", op.wire_bytes,
                                 bytes.wire));
  }
}

}  // namespace quire::engine
