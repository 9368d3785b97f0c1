#include "quire/engine/stores/gradient_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "quire/core/error.h"
#include "quire/engine/stores/mapped_memory.h"
#include "quire/kernels/elementwise.h"
#include "quire/kernels/tree_add.h"

namespace quire::engine {
namespace {

using kernels::TreeStep;

// As the stack program of kernels/tree_add.h.
std::vector<TreeStep> steps_of(std::span<const int> adds) {
  std::vector<TreeStep> steps;
  for (int count : adds) {
    steps.push_back(TreeStep::kPush);
    steps.insert(steps.end(), static_cast<std::size_t>(count), TreeStep::kAdd);
  }
  return steps;
}

// Of every result of such a program, its leftmost input.
std::vector<std::size_t> leftmost_inputs(std::span<const int> adds) {
  std::vector<std::size_t> stack;
  for (std::size_t i = 0; i < adds.size(); ++i) {
    stack.push_back(i);
    stack.resize(stack.size() - static_cast<std::size_t>(adds[i]));
  }
  return stack;
}

bool covers_all(std::span<const layout::Node> nodes, int lanes) {
  return nodes.size() == 1 &&
         layout::lanes_of(nodes.front(), lanes) == layout::Run{0, lanes};
}

}  // namespace

GradientStore::GradientStore(const Setup& setup)
    : setup_(setup),
      waves_(waves_of(setup.shape)),
      slots_({.structure = setup.structure,
              .shape = setup.shape,
              .communicator = setup.communicator,
              .allocator = setup.allocator}),
      units_(setup.structure->units.size()),
      mapped_sums_(setup.structure->units.size()) {
  for (const Use& use : setup_.structure->uses()) {
    uses_.emplace_back().use = use;
    ++units_[static_cast<std::size_t>(use.unit)].uses;
  }
}

void GradientStore::prepare() {
  if (std::exchange(prepared_, true)) return;
  slots_.allocate();
  if (!replicated() || !setup_.communicator->mapped()) return;
  for (int u = 0; u < static_cast<int>(units_.size()); ++u) {
    if (row(u).empty()) continue;
    mapped_sums_[static_cast<std::size_t>(u)] =
        mapped_tensor(*setup_.communicator, DType::kF32, {row(u).full()});
  }
}

GradientStore::UseState& GradientStore::state(const Use& use) {
  return *std::ranges::find_if(
      uses_, [&](const UseState& state) { return state.use == use; });
}

void GradientStore::begin_lane(int segment, int slot) {
  current_.clear();
  for (UseState& state : uses_) {
    if (state.use.segment != segment) continue;
    const int depth = static_cast<int>(state.stack.size());
    state.slot = slot;
    state.working = slots_.take(
        {.use = state.use, .slot = slot, .depth = depth, .dtype = DType::kF32});
    state.written.assign(row(state.use.unit).segments().size(), false);
    current_.push_back(&state);
  }
}

autograd::ParameterSource::Gradient GradientStore::gradient(int parameter) {
  const int unit =
      setup_.structure->unit_of[static_cast<std::size_t>(parameter)];
  const nn::ParameterInfo& info = setup_.model->parameter(parameter);
  for (UseState* state : current_) {
    if (state->use.unit != unit) continue;
    const layout::Segment& segment = row(unit).segment(parameter);
    const auto index =
        static_cast<std::size_t>(&segment - row(unit).segments().data());
    const bool accumulate = state->written[index];
    state->written[index] = true;
    return {state->working.tensor.range(segment.begin, info.shape), accumulate};
  }
  throw UsageError(fmt::format(
      "a backward adds to the gradient of {}, which its layer does not declare",
      info.name));
}

void GradientStore::end_lane(int lane) {
  for (UseState* state : current_) {
    zero_unwritten(*state);
    push_leaf(*state, lane);
  }
  current_.clear();
}

void GradientStore::zero_unwritten(UseState& state) {
  const auto segments = row(state.use.unit).segments();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (state.written[i]) continue;
    kernels::fill(
        {.y = state.working.tensor.range(segments[i].begin, segments[i].numel)},
        *setup_.stream);
  }
}

void GradientStore::push_leaf(UseState& state, int lane) {
  const DType wire = setup_.shape.options.precision.wire;
  const Tensor& leaf = state.working.tensor;
  if (wire != DType::kF32)
    kernels::cast({.x = leaf, .y = leaf, .through = wire}, *setup_.stream);
  std::vector<layout::Node> nodes;
  for (const Node& node : state.stack) nodes.push_back(node.node);
  nodes.push_back({0, lane});
  state.stack.push_back({nodes.back(), std::move(state.working)});
  const layout::Merge merged = layout::merge(nodes, setup_.shape.lanes);
  constexpr TreeStep kSteps[] = {TreeStep::kPush, TreeStep::kPush,
                                 TreeStep::kAdd};
  for (int i = 0; i < merged.adds.back(); ++i) {
    const Tensor left = state.stack[state.stack.size() - 2].row.tensor;
    const Tensor inputs[] = {left, state.stack.back().row.tensor};
    kernels::tree_add(
        {.inputs = inputs, .steps = kSteps, .outputs = std::span(&left, 1)},
        *setup_.stream);
    state.stack.pop_back();
  }
  for (std::size_t i = 0; i < state.stack.size(); ++i)
    state.stack[i].node = merged.result[i];
}

void GradientStore::reduce(const Op& op, comm::Communicator& communicator,
                           Stream& stream) {
  UseState& state = this->state({op.segment, op.unit});
  const comm::Call call{.stream = &stream,
                        .purpose = comm::Purpose::kReduce,
                        .unit = setup_.structure->unit(op.unit).name};
  state.slot = op.slot;
  const std::vector<Tensor> rows = send(state, op);
  const std::vector<comm::Arrival> arrivals = receive(state, op);
  communicator.all_to_all(rows, arrivals, call);
  add_slices(state, slices(state, op, rows), stream);
  communicator.release(call);
  finish_use(state, stream);
}

std::vector<layout::Node> GradientStore::nodes_of(const Op& op,
                                                  int rank) const {
  const layout::Run lanes =
      reduced_lanes(waves_, setup_.shape.options.stage, op.wave, rank);
  return layout::whole_nodes(lanes, setup_.shape.lanes);
}

std::vector<Tensor> GradientStore::send(UseState& state, const Op& op) {
  const DType wire = setup_.shape.options.precision.wire;
  std::vector<Tensor> rows;
  for (Node& node : state.stack) {
    const DType dtype = travels_as(node.node, wire);
    if (dtype != DType::kF32) {
      GradientRow narrow = slots_.take({.use = state.use,
                                        .slot = op.slot,
                                        .depth = static_cast<int>(rows.size()),
                                        .dtype = dtype});
      kernels::cast({.x = node.row.tensor, .y = narrow.tensor}, *setup_.stream);
      node.row = std::move(narrow);
    }
    rows.push_back(node.row.tensor);
    state.sent.push_back(std::move(node.row));
  }
  state.stack.clear();
  return rows;
}

std::vector<comm::Arrival> GradientStore::receive(UseState& state,
                                                  const Op& op) {
  std::vector<comm::Arrival> arrivals;
  for (int rank = 0; rank < setup_.shape.ranks; ++rank) {
    if (rank == setup_.shape.rank) continue;
    int depth = 0;
    for (const layout::Node& node : nodes_of(op, rank)) {
      const DType dtype = travels_as(node, setup_.shape.options.precision.wire);
      state.arrived.push_back(slots_.arrival(
          {.use = state.use, .slot = op.slot, .depth = depth++, .dtype = dtype},
          rank));
      arrivals.push_back({rank, state.arrived.back().tensor});
    }
  }
  return arrivals;
}

Tensor GradientStore::own_slice(const Tensor& row_tensor, int unit) const {
  return row_tensor.range(setup_.shape.rank * slice(unit), slice(unit));
}

GradientStore::Slices GradientStore::slices(
    const UseState& state, const Op& op, std::span<const Tensor> rows) const {
  Slices result;
  for (const Node& node : state.pending) {
    result.nodes.push_back(node.node);
    result.tensors.push_back(node.row.tensor);
  }
  auto arrived = state.arrived.begin();
  for (int rank = 0; rank < setup_.shape.ranks; ++rank) {
    const std::vector<layout::Node> nodes = nodes_of(op, rank);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      result.nodes.push_back(nodes[i]);
      const bool own = rank == setup_.shape.rank;
      result.tensors.push_back(own ? own_slice(rows[i], op.unit)
                                   : (arrived++)->tensor);
    }
  }
  return result;
}

void GradientStore::add_slices(UseState& state, const Slices& slices,
                               Stream& stream) {
  const layout::Merge merged = layout::merge(slices.nodes, setup_.shape.lanes);
  const std::vector<std::size_t> leftmost = leftmost_inputs(merged.adds);
  std::vector<Node> before = std::move(state.pending);
  state.pending.clear();
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < merged.result.size(); ++i) {
    GradientRow row;
    if (leftmost[i] < before.size()) {
      row = std::move(before[leftmost[i]].row);
    } else {
      row.tensor = setup_.allocator->allocate(
          DType::kF32, {slice(state.use.unit)}, Category::kGradients);
    }
    outputs.push_back(row.tensor);
    state.pending.push_back({merged.result[i], std::move(row)});
  }
  for (Node& node : before) state.consumed.push_back(std::move(node.row));
  kernels::tree_add({.inputs = slices.tensors,
                     .steps = steps_of(merged.adds),
                     .outputs = outputs},
                    stream);
}

void GradientStore::finish_use(UseState& state, Stream& stream) {
  std::vector<layout::Node> nodes;
  for (const Node& node : state.pending) nodes.push_back(node.node);
  if (!covers_all(nodes, setup_.shape.lanes)) return;
  UnitState& unit = units_[static_cast<std::size_t>(state.use.unit)];
  if (++unit.complete == unit.uses) add_roots(state, stream);
}

// The sum takes the place of the first root, but at stage 0, where it is a row.
void GradientStore::add_roots(UseState& state, Stream& stream) {
  const int unit = state.use.unit;
  std::vector<GradientRow> roots = take_roots(unit);
  std::vector<Tensor> inputs;
  for (const GradientRow& root : roots) inputs.push_back(root.tensor);
  if (replicated()) {
    make_sum(unit);
  } else {
    units_[static_cast<std::size_t>(unit)].sum = std::move(roots.front());
  }
  for (GradientRow& root : roots) state.consumed.push_back(std::move(root));
  if (inputs.size() == 1 && !replicated()) return;
  std::vector<int> adds(inputs.size(), 1);
  adds.front() = 0;
  const Tensor own = own_sum(unit);
  kernels::tree_add({.inputs = inputs,
                     .steps = steps_of(adds),
                     .outputs = std::span(&own, 1)},
                    stream);
}

std::vector<GradientRow> GradientStore::take_roots(int unit) {
  std::vector<GradientRow> roots;
  for (UseState& state : uses_) {
    if (state.use.unit != unit) continue;
    roots.push_back(std::move(state.pending.front().row));
    state.pending.clear();
  }
  return roots;
}

// Stage 0: a row that all ranks gather.
void GradientStore::make_sum(int unit) {
  GradientRow& sum = units_[static_cast<std::size_t>(unit)].sum;
  const std::int64_t elements = row(unit).full();
  const Tensor& mapped = mapped_sums_[static_cast<std::size_t>(unit)];
  if (mapped.defined()) {
    sum = {mapped, setup_.allocator->charge(elements * size_of(DType::kF32),
                                            Category::kGradients)};
  } else {
    sum = {setup_.allocator->allocate(DType::kF32, {elements},
                                      Category::kGradients),
           Charge()};
  }
}

void GradientStore::retire(const Op& op) {
  UseState& state = this->state({op.segment, op.unit});
  state.sent.clear();
  state.arrived.clear();
  state.consumed.clear();
}

void GradientStore::gather(int unit, comm::Communicator& communicator,
                           const comm::Call& call) {
  communicator.all_gather(sum(unit), call);
}

Tensor GradientStore::sum(int unit) const {
  return units_[static_cast<std::size_t>(unit)].sum.tensor;
}

Tensor GradientStore::own_sum(int unit) const {
  return replicated() ? own_slice(sum(unit), unit) : sum(unit);
}

void GradientStore::clear() {
  for (UseState& state : uses_) state.pending.clear();
  for (UnitState& unit : units_) {
    unit.sum.clear();
    unit.complete = 0;
  }
}

}  // namespace quire::engine
