// Runs one segment by itself on fixed input, forwards and backwards: a trial of
// its kernels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quire/core/batch.h"
#include "quire/engine/execution/segment_setup.h"
#include "quire/engine/startup/fixed_values.h"

namespace quire::engine {

// What travels from segment to segment.
struct NamedKind {
  std::string name;
  TensorKind kind;
};
using Flow = std::vector<NamedKind>;

class SegmentTrial {
 public:
  // Types and shapes are those of `lane`.
  SegmentTrial(const SegmentSetup& setup, const Batch& lane);

  // What enters the first segment.
  Flow inputs(const Batch& lane) const;

  // A segment's forward on the meta device.
  struct Trace {
    // What it does, as far as can be seen without names: types of layers,
    // shapes, operations, and the bytes it takes.
    std::string work;
    Flow out;
  };
  Trace traced(int segment, const Flow& flow) const;

  // Told of the result of every operation, then of every gradient.
  using Observer = autograd::Tape::Observer;
  void run(int segment, const Flow& flow, const Observer& observer) const;

 private:
  DType compute() const { return setup_.options->precision.compute; }
  std::span<const int> positions(int segment) const;
  const nn::Model::Position& position(int index) const;
  Tensor fixed(const NamedKind& named) const;
  nn::Values forward(int segment, autograd::Tape& tape,
                     nn::Values values) const;
  std::string kind_of(int segment, const Flow& flow) const;
  std::string parameters_of(int position) const;
  nn::Values leaves(int segment, autograd::Tape& tape, const Flow& flow) const;
  nn::Values result_of(int segment, autograd::Tape& tape,
                       const nn::Values& in) const;
  void backward(autograd::Tape& tape, nn::Values out) const;

  SegmentSetup setup_;
  FixedValues values_;
  Batch targets_;
};

}  // namespace quire::engine
