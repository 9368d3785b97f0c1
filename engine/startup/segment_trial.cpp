#include "quire/engine/startup/segment_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <typeinfo>

namespace quire::engine {
namespace {

using autograd::Tape;
using autograd::Var;

std::string text_of(const TensorKind& kind) {
  return fmt::format("{} {}", name_of(kind.dtype), kind.shape.to_string());
}

// Stands for the parameters' shapes alone.
class MetaParameters final : public autograd::ParameterSource {
 public:
  MetaParameters(const nn::Model& model, DType compute)
      : model_(&model), compute_(compute) {}
  Tensor value(int id) override {
    return meta_tensor(compute_, model_->parameter(id).shape);
  }
  bool trainable(int) const override { return false; }
  Gradient gradient(int id) override { return {value(id), false}; }

 private:
  const nn::Model* model_;
  DType compute_;
};

}  // namespace

SegmentTrial::SegmentTrial(const SegmentSetup& setup, const Batch& lane)
    : setup_(setup), values_(*setup.allocator, *setup.stream) {
  for (const auto& [name, tensor] : lane.targets) {
    targets_.targets.push_back(
        {name, fixed({name, {tensor.dtype(), tensor.shape()}})});
  }
}

std::span<const int> SegmentTrial::positions(int segment) const {
  return setup_.structure->segment(segment).positions;
}

const nn::Model::Position& SegmentTrial::position(int index) const {
  return setup_.model->positions()[static_cast<std::size_t>(index)];
}

Tensor SegmentTrial::fixed(const NamedKind& named) const {
  return values_.make(
      named.kind,
      {.name = named.name, .bound = 1.0f, .category = Category::kActivations});
}

Flow SegmentTrial::inputs(const Batch& lane) const {
  Flow flow;
  for (const auto& [name, tensor] : lane.inputs) {
    const DType dtype =
        is_compute_type(tensor.dtype()) ? compute() : tensor.dtype();
    flow.push_back({name, {dtype, tensor.shape()}});
  }
  return flow;
}

nn::Values SegmentTrial::forward(int segment, Tape& tape,
                                 nn::Values values) const {
  for (int index : positions(segment)) {
    tape.enter(position(index).name);
    values = position(index).layer->forward(values);
  }
  return values;
}

// The segments of a deep model differ in nothing but their names.
std::string SegmentTrial::kind_of(int segment, const Flow& flow) const {
  std::string text = segment == setup_.structure->last() ? "last\n" : "";
  if (segment > setup_.structure->first_trainable) text += "differentiated\n";
  for (const auto& [name, kind] : flow)
    text += fmt::format("{} {}\n", name, text_of(kind));
  for (int index : positions(segment)) {
    const nn::Layer& layer = *position(index).layer;
    text += fmt::format("{}\n{}", typeid(layer).name(), parameters_of(index));
  }
  return text;
}

std::string SegmentTrial::parameters_of(int position) const {
  std::string text;
  for (const nn::ParameterInfo& info : setup_.model->parameters()) {
    if (std::ranges::find(info.positions, position) == info.positions.end())
      continue;
    text += fmt::format("parameter {} {}\n", info.shape.to_string(),
                        info.trainable ? "trained" : "frozen");
  }
  return text;
}

SegmentTrial::Trace SegmentTrial::traced(int segment, const Flow& flow) const {
  Allocator allocator({.device = Device::kMeta, .owner = "trace"});
  Stream stream(Stream::Kind::kInline, "trace", setup_.stream->pool(),
                allocator);
  MetaParameters parameters(*setup_.model, compute());
  Trace trace{kind_of(segment, flow), {}};
  Tape tape(
      {.stream = &stream, .allocator = &allocator, .parameters = &parameters});
  tape.observe(
      [&](std::string_view, std::string_view operation, const Tensor& result) {
        trace.work += fmt::format("{} {}\n", operation,
                                  text_of({result.dtype(), result.shape()}));
      });
  std::vector<nn::Values::Entry> leaves;
  for (const auto& [name, kind] : flow)
    leaves.emplace_back(name, tape.leaf(meta_tensor(kind.dtype, kind.shape)));
  const nn::Values out = forward(segment, tape, nn::Values(std::move(leaves)));
  for (const auto& [name, var] : out)
    trace.out.push_back({name, {var.dtype(), var.shape()}});
  trace.work += fmt::format("{} bytes", allocator.report().total_peak);
  return trace;
}

nn::Values SegmentTrial::leaves(int segment, Tape& tape,
                                const Flow& flow) const {
  const bool depends = segment > setup_.structure->first_trainable;
  std::vector<nn::Values::Entry> entries;
  for (const NamedKind& named : flow) {
    const bool grad = depends && is_compute_type(named.kind.dtype);
    entries.emplace_back(
        named.name,
        tape.leaf(fixed(named), grad ? Tape::Grad::kYes : Tape::Grad::kNo));
  }
  return nn::Values(std::move(entries));
}

void SegmentTrial::run(int segment, const Flow& flow,
                       const Observer& observer) const {
  FixedParameters parameters(*setup_.model, compute(), *setup_.allocator,
                             *setup_.stream);
  Tape tape({.stream = setup_.stream,
             .allocator = setup_.allocator,
             .parameters = &parameters});
  tape.observe(observer);
  const nn::Values in = leaves(segment, tape, flow);
  backward(tape, result_of(segment, tape, in));
  const std::string& layer = position(positions(segment).front()).name;
  for (const auto& [name, var] : in) {
    const Tensor gradient = tape.gradient(var);
    if (gradient.defined()) observer(layer, "gradient of " + name, gradient);
  }
  for (const auto& [id, gradient] : parameters.gradients()) {
    const std::string& name = setup_.model->parameter(id).name;
    observer(layer, "gradient of " + name, gradient);
  }
}

nn::Values SegmentTrial::result_of(int segment, Tape& tape,
                                   const nn::Values& in) const {
  nn::Values out = forward(segment, tape, in);
  if (segment < setup_.structure->last()) return out;
  return nn::Values({{"loss", setup_.loss->forward(out, targets_).sum}});
}

void SegmentTrial::backward(Tape& tape, nn::Values out) const {
  std::vector<Var> outputs;
  std::vector<Tensor> seeds;
  for (const auto& [name, var] : out) {
    if (!var.needs_grad()) continue;
    outputs.push_back(var.without_value());
    seeds.push_back(fixed({name, {var.dtype(), var.shape()}}));
  }
  out = nn::Values();
  tape.backward(outputs, seeds);
}

}  // namespace quire::engine
