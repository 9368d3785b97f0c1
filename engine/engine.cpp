#include "quire/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "quire/core/error.h"
#include "quire/engine/exchange.h"
#include "quire/engine/execution/executor.h"
#include "quire/engine/execution/segment_runner.h"
#include "quire/engine/proof.h"
#include "quire/engine/startup/agreement.h"
#include "quire/engine/startup/kernel_fingerprint.h"
#include "quire/engine/stores/gradient_store.h"
#include "quire/engine/stores/parameter_store.h"

namespace quire::engine {
namespace {

// What the layers see: values of open units, gradients of the lane in progress.
class Source final : public autograd::ParameterSource {
 public:
  Source(const nn::Model& model, ParameterStore& values,
         GradientStore& gradients)
      : model_(&model), values_(&values), gradients_(&gradients) {}
  Tensor value(int id) override { return values_->value(id); }
  bool trainable(int id) const override {
    return model_->parameter(id).trainable;
  }
  Gradient gradient(int id) override { return gradients_->gradient(id); }

 private:
  const nn::Model* model_;
  ParameterStore* values_;
  GradientStore* gradients_;
};

// Exchanges that run beside the rank's own arithmetic have threads. Without
// peers, or where the plan waits for each at once, these would only be woken.
Stream::Kind communication_kind(const Setup& setup) {
  const bool waits_at_once = setup.communicator->size() == 1 ||
                             setup.options.prefetch == 0 ||
                             setup.allocator->device() == Device::kMeta;
  return waits_at_once ? Stream::Kind::kInline : Stream::Kind::kBackground;
}

const Setup& checked(const Setup& setup) {
  check(setup.options);
  return setup;
}

}  // namespace

struct Engine::State {
  explicit State(Setup given);

  const nn::ParameterInfo& info(int parameter) const {
    return setup.model->parameter(parameter);
  }
  PlanShape shape(int lanes) const {
    return {.ranks = setup.communicator->size(),
            .rank = setup.communicator->rank(),
            .lanes = lanes,
            .options = setup.options};
  }
  SegmentSetup segments() {
    return {.model = setup.model,
            .structure = &structure,
            .loss = setup.loss,
            .options = &setup.options,
            .stream = &compute,
            .allocator = setup.allocator};
  }
  // Where step()'s caller put a lane's batch.
  std::size_t batch_index(int lane) const {
    return static_cast<std::size_t>(std::ranges::find(lanes, lane) -
                                    lanes.begin());
  }
  void make_optimizer_states();
  void update(const Totals& totals, StepResult& result);
  void update_range(std::size_t index,
                    const optim::Optimizer::Scalars& scalars);
  void set_clipping(const Totals& totals, StepResult& result) const;
  std::vector<StateRange> ranges(const std::vector<HeldRange>& held) const;

  Setup setup;
  Structure structure;
  Plan plan;
  ThreadPool gather_pool{1};
  ThreadPool reduce_pool{1};
  Stream compute;
  std::unique_ptr<comm::Communicator> gatherer;
  std::unique_ptr<comm::Communicator> reducer;
  Exchange weights;
  Exchange commit;
  ParameterStore parameters;
  GradientStore gradients;
  Source source;
  SegmentRunner runner;
  // After what their queued work reads, so that they end before it.
  Stream gather;
  Stream reduce;
  Executor executor;
  std::vector<HeldRange> updated;    // trainable ranges of this rank
  std::vector<optim::Group> groups;  // of each of them
  // Of every unit, in the order of the optimizer's names.
  std::vector<std::vector<Tensor>> optimizer_states;
  std::vector<int> lanes;
  OpObserver observer;
  std::int64_t updates = 0;
};

Engine::State::State(Setup given)
    : setup(checked(given)),
      structure(*setup.model, setup.communicator->size()),
      plan(proved(training_plan(structure, shape(setup.options.lanes)),
                  structure)),
      compute(Stream::Kind::kInline, "compute", *setup.pool, *setup.allocator),
      gatherer(agreed({.plan = &plan,
                       .structure = &structure,
                       .model = setup.model,
                       .optimizer = setup.optimizer},
                      *setup.communicator, compute)
                   .split("gather")),
      reducer(setup.communicator->split("reduce")),
      weights(*setup.communicator, kWeightsSliceBytes),
      commit(*setup.communicator, kCommitSliceBytes),
      parameters({.model = setup.model,
                  .structure = &structure,
                  .options = &setup.options,
                  .communicator = setup.communicator,
                  .allocator = setup.allocator,
                  .stream = &compute}),
      gradients({.model = setup.model,
                 .structure = &structure,
                 .shape = shape(setup.options.lanes),
                 .communicator = setup.communicator,
                 .allocator = setup.allocator,
                 .stream = &compute}),
      source(*setup.model, parameters, gradients),
      runner(segments(), source),
      gather(communication_kind(setup), "gather", gather_pool,
             *setup.allocator),
      reduce(communication_kind(setup), "reduce", reduce_pool,
             *setup.allocator),
      executor({.structure = &structure,
                .loss = setup.loss,
                .parameters = &parameters,
                .gradients = &gradients,
                .runner = &runner,
                .compute = &compute,
                .gather = &gather,
                .reduce = &reduce,
                .communicator = setup.communicator,
                .gatherer = gatherer.get(),
                .reducer = reducer.get(),
                .weights = &weights,
                .commit = &commit}),
      lanes(waves_of(plan.shape).of_rank(plan.shape.rank)) {
  make_optimizer_states();
  parameters.initialise();
}

void Engine::State::make_optimizer_states() {
  const std::size_t count = setup.optimizer->states().size();
  optimizer_states.resize(structure.units.size());
  for (int u = 0; u < static_cast<int>(structure.units.size()); ++u) {
    if (structure.unit(u).trainable.empty()) continue;
    for (std::size_t i = 0; i < count; ++i) {
      optimizer_states[static_cast<std::size_t>(u)].push_back(
          setup.allocator->zeros(DType::kF32, {parameters.held_elements(u)},
                                 Category::kOptimizer));
    }
  }
  for (HeldRange& range : parameters.held()) {
    if (!range.trainable) continue;
    const nn::ParameterInfo& parameter = info(range.parameter);
    groups.push_back(optim::group_of({parameter.name, parameter.decay},
                                     setup.options.groups));
    updated.push_back(std::move(range));
  }
}

void Engine::State::set_clipping(const Totals& totals,
                                 StepResult& result) const {
  result.gradient_norm = std::sqrt(totals.squares.value());
  const auto& clip = setup.options.clip_norm;
  if (clip && result.gradient_norm > *clip)
    result.gradient_scale = *clip / result.gradient_norm;
}

void Engine::State::update(const Totals& totals, StepResult& result) {
  result.lr_factor = setup.options.schedule.factor(updates);
  if (!totals.squares.finite() || !totals.loss.finite()) {
    result.skip = StepResult::Skip::kNotFinite;
  } else {
    set_clipping(totals, result);
    ++updates;
    for (std::size_t i = 0; i < updated.size(); ++i) {
      update_range(i, {.step = updates,
                       .lr = groups[i].lr * result.lr_factor,
                       .weight_decay = groups[i].weight_decay,
                       .gradient_scale = result.gradient_scale});
    }
  }
  gradients.clear();
}

void Engine::State::update_range(std::size_t index,
                                 const optim::Optimizer::Scalars& scalars) {
  const HeldRange& range = updated[index];
  const std::int64_t count = range.master.numel();
  optim::Optimizer::Range part{
      .master = range.master,
      .gradient = gradients.sum(range.unit).range(range.offset, count),
      .published = range.published,
      .states = {}};
  for (const Tensor& state :
       optimizer_states[static_cast<std::size_t>(range.unit)]) {
    part.states.push_back(state.range(range.offset, count));
  }
  setup.optimizer->update(part, scalars, compute);
}

std::vector<StateRange> Engine::State::ranges(
    const std::vector<HeldRange>& held) const {
  const std::vector<std::string> names = setup.optimizer->states();
  std::vector<StateRange> result;
  for (const HeldRange& range : held) {
    const Tensor& data = range.trainable ? range.master : range.published;
    result.push_back({range.trainable ? "master" : "value", range.parameter,
                      range.first, data});
    if (!range.trainable) continue;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Tensor& state =
          optimizer_states[static_cast<std::size_t>(range.unit)][i];
      result.push_back({names[i], range.parameter, range.first,
                        state.range(range.offset, data.numel())});
    }
  }
  return result;
}

Engine::Engine(Setup setup) : state_(std::make_unique<State>(setup)) {}

Engine::~Engine() = default;

std::uint64_t Engine::fingerprint_kernels(const Batch& lane) {
  State& s = *state_;
  s.setup.communicator->enter("fingerprint");
  const std::string lines =
      hash_kernels(s.segments(), *s.setup.optimizer, lane);
  return agreed_kernels(lines, *s.setup.communicator, s.compute);
}

std::span<const int> Engine::lanes() const { return state_->lanes; }

StepResult Engine::step(std::int64_t step, std::span<const Batch> batches) {
  State& s = *state_;
  if (batches.size() != s.lanes.size()) {
    throw UsageError(
        fmt::format("step {} got {} batches; this rank works on {} lanes and "
                    "takes one batch for each",
                    step, batches.size(), s.lanes.size()));
  }
  s.gradients.prepare();
  std::int64_t weight = 0;
  for (const Batch& batch : batches) weight += s.executor.weight(batch);
  StepResult result;
  const Totals totals = s.executor.run(
      s.plan,
      {.step = step,
       .batch = [&](int lane) { return batches[s.batch_index(lane)]; },
       .weight = weight,
       .update = [&](const Totals& totals) { s.update(totals, result); },
       .before = s.observer.before,
       .after = s.observer.after});
  result.weight = totals.weight;
  if (totals.weight == 0) {
    result.skip = StepResult::Skip::kNoWeight;
    return result;
  }
  result.loss = totals.loss.value() / static_cast<double>(totals.weight);
  result.metrics = metric_means(totals);
  return result;
}

Evaluation Engine::evaluate(int lanes,
                            const std::function<Batch(int lane)>& batch) {
  State& s = *state_;
  if (lanes < 1)
    throw UsageError(fmt::format(
        "an evaluation over {} lanes; it needs at least one", lanes));
  PlanShape shape = s.shape(lanes);
  shape.options.wave = waves_of(s.plan.shape).width();
  Plan plan = proved(evaluation_plan(s.structure, shape), s.structure);
  const Totals totals = s.executor.run(plan, {.step = -1,
                                              .batch = batch,
                                              .before = s.observer.before,
                                              .after = s.observer.after});
  Evaluation result;
  result.weight = totals.weight;
  if (totals.weight > 0)
    result.loss = totals.loss.value() / static_cast<double>(totals.weight);
  result.metrics = metric_means(totals);
  return result;
}

std::int64_t Engine::updates() const { return state_->updates; }

std::vector<StateRange> Engine::owned_state() const {
  return state_->ranges(state_->parameters.owned());
}

std::vector<StateRange> Engine::held_state() const {
  return state_->ranges(state_->parameters.held());
}

void Engine::restored(std::int64_t updates) {
  state_->updates = updates;
  state_->parameters.publish();
}

void Engine::open() {
  State& s = *state_;
  if (s.setup.options.stage == Stage::kNone) return;
  for (int u = 0; u < static_cast<int>(s.structure.units.size()); ++u) {
    s.parameters.gather(u, *s.gatherer,
                        {.stream = &s.gather,
                         .purpose = comm::Purpose::kControl,
                         .unit = s.structure.unit(u).name});
  }
  s.gather.synchronize();
}

Tensor Engine::value(int parameter) const {
  return state_->parameters.value(parameter);
}

void Engine::close() {
  State& s = *state_;
  if (s.setup.options.stage != Stage::kParameters) return;
  for (int u = 0; u < static_cast<int>(s.structure.units.size()); ++u)
    s.parameters.release(u);
}

Tensor Engine::forward(const Batch& batch) {
  State& s = *state_;
  s.runner.begin({.lane = 0,
                  .batch = &batch,
                  .step = 0,
                  .mode = SegmentRunner::Mode::kEvaluation});
  for (int segment = 0; segment < s.structure.last(); ++segment)
    s.runner.forward(segment, 0);
  return s.runner.output(0);
}

void Engine::observe(OpObserver observer) {
  state_->observer = std::move(observer);
}

const Plan& Engine::plan() const { return state_->plan; }

const Structure& Engine::structure() const { return state_->structure; }

comm::Traffic Engine::predicted_traffic() const {
  return state_->executor.traffic();
}

}  // namespace quire::engine
