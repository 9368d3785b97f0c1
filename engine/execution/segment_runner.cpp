#include "quire/engine/execution/segment_runner.h"

#include <algorithm>

#include "quire/core/error.h"
#include "quire/kernels/elementwise.h"

namespace quire::engine {
namespace {

using autograd::Tape;
using autograd::Var;

// Parameters of a run that nothing is going to differentiate.
class Untrained final : public autograd::ParameterSource {
 public:
  explicit Untrained(autograd::ParameterSource& source) : source_(&source) {}
  Tensor value(int id) override { return source_->value(id); }
  bool trainable(int) const override { return false; }
  Gradient gradient(int id) override { return source_->gradient(id); }

 private:
  autograd::ParameterSource* source_;
};

std::vector<NamedTensor> values_of(const nn::Values& values) {
  std::vector<NamedTensor> result;
  for (const auto& [name, var] : values) result.push_back({name, var.value()});
  return result;
}

Tensor find(const std::vector<NamedTensor>& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  return found == tensors.end() ? Tensor() : found->tensor;
}

}  // namespace

void SegmentRunner::begin(const Lane& lane) {
  finish(lane.lane);  // a run that threw may have left it
  State& state = states_.emplace_back();
  state.lane = lane;
  state.flow = lane.batch->inputs;
  for (NamedTensor& input : state.flow)
    input.tensor = to_compute_type(input.tensor);
  state.pending.resize(setup_.structure->segments.size());
}

SegmentRunner::State& SegmentRunner::state(int lane) {
  return *std::ranges::find(states_, lane,
                            [](const State& state) { return state.lane.lane; });
}

void SegmentRunner::finish(int lane) {
  std::erase_if(states_,
                [lane](const State& state) { return state.lane.lane == lane; });
}

Tensor SegmentRunner::to_compute_type(const Tensor& input) {
  const DType compute = setup_.options->precision.compute;
  if (!is_compute_type(input.dtype()) || input.dtype() == compute) return input;
  const Tensor converted = setup_.allocator->allocate(compute, input.shape(),
                                                      Category::kActivations);
  kernels::cast({.x = input, .y = converted}, *setup_.stream);
  return converted;
}

// A float that enters a segment behind the first trainable one depends on
// something trainable.
nn::Values SegmentRunner::leaves(int segment, Tape& tape,
                                 const std::vector<NamedTensor>& inputs,
                                 Recording recording) {
  const bool depends = recording == Recording::kYes &&
                       segment > setup_.structure->first_trainable;
  std::vector<nn::Values::Entry> entries;
  for (const NamedTensor& input : inputs) {
    const bool grad = depends && is_compute_type(input.tensor.dtype());
    entries.emplace_back(
        input.name,
        tape.leaf(input.tensor, grad ? Tape::Grad::kYes : Tape::Grad::kNo));
  }
  return nn::Values(std::move(entries));
}

SegmentRunner::Pending SegmentRunner::run(
    int segment, const State& state, const std::vector<NamedTensor>& inputs,
    Recording recording) {
  Untrained untrained(*parameters_);
  const bool training = state.lane.mode == Mode::kTraining;
  Pending result;
  result.tape = std::make_unique<Tape>(Tape::Context{
      .stream = setup_.stream,
      .allocator = setup_.allocator,
      .parameters = recording == Recording::kYes ? parameters_ : &untrained,
      .mode = training ? Tape::Mode::kTraining : Tape::Mode::kEvaluation,
      .seed = setup_.options->seed,
      .step = state.lane.step,
      .lane = static_cast<std::uint32_t>(state.lane.lane)});
  result.in = leaves(segment, *result.tape, inputs, recording);
  result.out = result.in;
  for (int position : setup_.structure->segment(segment).positions) {
    const nn::Model::Position& layer =
        setup_.model->positions()[static_cast<std::size_t>(position)];
    result.tape->enter(layer.name);
    result.out = layer.layer->forward(result.out);
  }
  return result;
}

void SegmentRunner::forward(int segment, int lane) {
  State& state = this->state(lane);
  const bool keeps_tape = state.lane.mode == Mode::kTraining && !recomputes() &&
                          segment >= setup_.structure->first_trainable;
  Pending run = this->run(segment, state, state.flow,
                          keeps_tape ? Recording::kYes : Recording::kNo);
  std::vector<NamedTensor> out = values_of(run.out);
  Pending& pending = state.pending[static_cast<std::size_t>(segment)];
  if (keeps_tape) {
    pending = std::move(run);
  } else if (state.lane.mode == Mode::kTraining &&
             segment >= setup_.structure->first_trainable) {
    pending.inputs = std::move(state.flow);
  }
  state.flow = std::move(out);
}

SegmentRunner::LossSums SegmentRunner::turn(int lane, float seed) {
  State& state = this->state(lane);
  const bool training = state.lane.mode == Mode::kTraining;
  const int last = setup_.structure->last();
  Pending run;
  {
    const std::vector<NamedTensor> inputs = std::move(state.flow);
    run = this->run(last, state, inputs,
                    training ? Recording::kYes : Recording::kNo);
  }
  nn::Loss::Result loss = setup_.loss->forward(run.out, *state.lane.batch);
  LossSums sums = read(loss);
  if (training) {
    run.out = nn::Values({{"loss", std::move(loss.sum)}});
    state.gradients =
        backward_of(run, {{"loss", seed_tensor(*run.tape, seed)}});
    end_backward(last, lane);
  } else {
    finish(lane);
  }
  return sums;
}

Tensor SegmentRunner::output(int lane) {
  State& state = this->state(lane);
  const std::vector<NamedTensor> inputs = std::move(state.flow);
  const Pending run =
      this->run(setup_.structure->last(), state, inputs, Recording::kNo);
  finish(lane);
  return run.out.only().value();
}

SegmentRunner::LossSums SegmentRunner::read(
    const nn::Loss::Result& loss) const {
  const Tensor& sum = loss.sum.value();
  if (!sum.defined() || sum.numel() != 1 || sum.dtype() != DType::kF32) {
    throw UsageError("a loss gives its sum as one fp32 element; see nn/loss.h");
  }
  return {.sum = sum.is_meta() ? 0.0 : static_cast<double>(*sum.data<float>()),
          .metrics = loss.metrics};
}

Tensor SegmentRunner::seed_tensor(Tape& tape, float seed) {
  const Tensor one = tape.allocate(DType::kF32, {1});
  kernels::fill({.y = one, .value = seed}, *setup_.stream);
  return one;
}

std::vector<NamedTensor> SegmentRunner::backward_of(
    Pending& pending, const std::vector<NamedTensor>& gradients) {
  std::vector<Var> outputs;
  std::vector<Tensor> seeds;
  for (const auto& [name, var] : pending.out) {
    if (!var.needs_grad()) continue;
    outputs.push_back(var);
    seeds.push_back(find(gradients, name));
  }
  pending.out = nn::Values();
  pending.tape->backward(outputs, seeds);
  std::vector<NamedTensor> result;
  for (const auto& [name, var] : pending.in) {
    if (var.needs_grad()) result.push_back({name, pending.tape->gradient(var)});
  }
  return result;
}

void SegmentRunner::backward(int segment, int lane) {
  State& state = this->state(lane);
  Pending& pending = state.pending[static_cast<std::size_t>(segment)];
  if (recomputes()) {
    const std::vector<NamedTensor> inputs = std::move(pending.inputs);
    pending = run(segment, state, inputs, Recording::kYes);
  }
  const std::vector<NamedTensor> gradients = std::move(state.gradients);
  state.gradients = backward_of(pending, gradients);
  pending = Pending();
  end_backward(segment, lane);
}

void SegmentRunner::end_backward(int segment, int lane) {
  if (segment == setup_.structure->first_trainable) finish(lane);
}

}  // namespace quire::engine
