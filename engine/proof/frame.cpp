// What a plan begins and ends with, and what it may hold.
#include <fmt/format.h>

#include "quire/engine/proof/case.h"

namespace quire::engine {
namespace {

bool trains(OpKind kind) {
  switch (kind) {
    case OpKind::kWeights:
    case OpKind::kBackward:
    case OpKind::kReduce:
    case OpKind::kRetire:
    case OpKind::kGatherGradients:
    case OpKind::kUpdate:
      return true;
    default:
      return false;
  }
}

void require_at(ProofCase& proof, OpKind kind, int place) {
  int times = 0;
  for (int i = 0; i < proof.count(); ++i) {
    if (proof.op(i).kind != kind) continue;
    ++times;
    if (i != place)
      proof.found(i, fmt::format("is in place {} of {}; expected {}", i,
                                 proof.count(), place));
  }
  if (times == 0) proof.found(fmt::format("the plan has no {}", name_of(kind)));
}

}  // namespace

void prove_frame(ProofCase& proof) {
  const bool training = proof.plan().training;
  if (training) {
    require_at(proof, OpKind::kWeights, 0);
    require_at(proof, OpKind::kUpdate, proof.count() - 1);
  }
  require_at(proof, OpKind::kCommit, proof.count() - (training ? 2 : 1));
  for (int i = 0; i < proof.count(); ++i) {
    if (!training && trains(proof.op(i).kind))
      proof.found(i, "has no place in an evaluation");
  }
}

}  // namespace quire::engine
