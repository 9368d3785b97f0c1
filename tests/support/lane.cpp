#include "tests/support/lane.h"

#include <memory>
#include <vector>

#include "quire/kernels/elementwise.h"

namespace quire::testing {
namespace {

using autograd::Tape;
using autograd::Var;
using nn::Values;

struct Position {
  std::unique_ptr<Tape> tape;
  Values in, out;
};

// The variables of `values` as leaves of another tape.
Values leaves(const Values& values, Tape& tape) {
  std::vector<Values::Entry> entries;
  for (const auto& [name, var] : values)
    entries.emplace_back(
        name, tape.leaf(var.value(),
                        var.needs_grad() ? Tape::Grad::kYes : Tape::Grad::kNo));
  return Values(std::move(entries));
}

Values inputs_of(const Batch& batch, Tape& tape) {
  std::vector<Values::Entry> entries;
  for (const NamedTensor& input : batch.inputs)
    entries.emplace_back(input.name, tape.leaf(input.tensor));
  return Values(std::move(entries));
}

Position forward(const Lane& lane, const nn::Model::Position& at,
                 const Position* before) {
  Position position;
  position.tape = std::make_unique<Tape>(lane.context);
  position.tape->enter(at.name);
  position.in = before != nullptr ? leaves(before->out, *position.tape)
                                  : inputs_of(lane.batch, *position.tape);
  position.out = at.layer->forward(position.in);
  return position;
}

std::vector<Tensor> backward(Position& position,
                             const std::vector<Tensor>& gradients) {
  std::vector<Var> outputs;
  for (const auto& [name, var] : position.out) outputs.push_back(var);
  position.tape->backward(outputs, gradients);
  std::vector<Tensor> reached;
  for (const auto& [name, var] : position.in)
    reached.push_back(position.tape->gradient(var));
  return reached;
}

// The loss on a tape of its own: its sum, and what reaches the output.
Tensor run_loss(const Lane& lane, const Values& out, LaneResult& result) {
  Tape tape(lane.context);
  tape.enter("loss");
  const Values in = leaves(out, tape);
  const Var sum = lane.loss.forward(in, lane.batch).sum;
  result.sum = sum.value();
  Tensor seed = tape.allocate(DType::kF32, {1});
  kernels::fill({.y = seed, .value = 1.0f / static_cast<float>(result.weight)},
                tape.stream());
  tape.backward(std::span(&sum, 1), std::span(&seed, 1));
  return tape.gradient(in.only());
}

}  // namespace

LaneResult run_lane(const Lane& lane) {
  std::vector<Position> positions;
  for (const auto& at : lane.model.positions())
    positions.push_back(
        forward(lane, at, positions.empty() ? nullptr : &positions.back()));
  LaneResult result{.output = positions.back().out.only().value(),
                    .sum = {},
                    .weight = lane.loss.weight(lane.batch)};
  std::vector<Tensor> gradients = {
      run_loss(lane, positions.back().out, result)};
  while (!positions.empty()) {
    gradients = backward(positions.back(), gradients);
    positions.pop_back();
  }
  return result;
}

}  // namespace quire::testing
