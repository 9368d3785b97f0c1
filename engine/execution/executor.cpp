#include "quire/engine/execution/executor.h"

#include "quire/core/error.h"

namespace quire::engine {

Totals Executor::run(Plan& plan, const Work& work) {
  plan_ = &plan;
  work_ = &work;
  totals_ = Totals();
  events_.assign(plan.ops.size(), Event());
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    Op& op = plan.ops[i];
    locate(op);
    for (int wait : op.waits)
      stream(op.stream).wait(events_[static_cast<std::size_t>(wait)]);
    if (work.before) work.before(op);
    execute(op);
    finish(op, i);
    if (work.after) work.after(op);
    if (op.kind == OpKind::kWeights && totals_.weight == 0) break;
  }
  batches_.clear();
  return totals_;
}

void Executor::finish(const Op& op, std::size_t index) {
  if (op.stream != StreamId::kCompute)
    events_[index] = stream(op.stream).record();
  traffic_ += {op.collectives, op.wire_bytes};
}

bool Executor::is_meta() const {
  return parts_.compute->scratch().device() == Device::kMeta;
}

std::int64_t Executor::weight(const Batch& batch) const {
  if (is_meta()) return 1;
  const std::int64_t weight = parts_.loss->weight(batch);
  if (weight < 0)
    throw UsageError(
        "a loss gives a lane a negative weight; weights count targets or "
        "examples");
  return weight;
}

void Executor::locate(const Op& op) {
  std::string_view layer;
  if (op.segment >= 0) {
    layer = parts_.structure->segment(op.segment).name;
  } else if (op.unit >= 0) {
    layer = unit_name(op);
  }
  // An evaluation is of the step after which it runs, whoever runs it.
  comm::Communicator& communicator = *parts_.communicator;
  if (plan_->training) {
    communicator.locate(
        {.step = work_->step, .phase = name_of(op.kind), .layer = layer});
  } else {
    communicator.enter("evaluate", layer);
  }
}

const std::string& Executor::unit_name(const Op& op) const {
  return parts_.structure->unit(op.unit).name;
}

Stream& Executor::stream(StreamId id) const {
  switch (id) {
    case StreamId::kGather:
      return *parts_.gather;
    case StreamId::kReduce:
      return *parts_.reduce;
    case StreamId::kCompute:
      break;
  }
  return *parts_.compute;
}

comm::Call Executor::call(StreamId id, comm::Purpose purpose,
                          std::string_view unit) const {
  return {.stream = &stream(id), .purpose = purpose, .unit = unit};
}

void Executor::execute(const Op& op) {
  switch (op.kind) {
    case OpKind::kWeights:
      return exchange_weights();
    case OpKind::kGather:
      return gather(op);
    case OpKind::kRelease:
      return parts_.parameters->release(op.unit);
    case OpKind::kForward:
      return forward(op);
    case OpKind::kTurn:
      return turn(op);
    case OpKind::kBackward:
      return backward(op);
    case OpKind::kReduce:
      return reduce(op);
    case OpKind::kRetire:
      return parts_.gradients->retire(op);
    case OpKind::kGatherGradients:
      return gather_gradients(op);
    case OpKind::kCommit:
      return commit();
    case OpKind::kUpdate:
      return work_->update(totals_);
  }
}

void Executor::exchange_weights() {
  for (std::int64_t weight : parts_.weights->all(
           work_->weight,
           call(StreamId::kCompute, comm::Purpose::kWeights, "step"))) {
    totals_.weight += weight;
  }
  if (is_meta()) totals_.weight = plan_->shape.lanes;  // with those of peers
  if (totals_.weight > 0)
    seed_ = static_cast<float>(1.0 / static_cast<double>(totals_.weight));
}

void Executor::gather(const Op& op) {
  parts_.parameters->gather(
      op.unit, *parts_.gatherer,
      call(StreamId::kGather, comm::Purpose::kGather, unit_name(op)));
}

void Executor::begin_wave(const Op& op) {
  const auto mode = plan_->training ? SegmentRunner::Mode::kTraining
                                    : SegmentRunner::Mode::kEvaluation;
  batches_.clear();
  for (int lane = op.lanes.begin; lane < op.lanes.end; ++lane) {
    const Batch& batch = batches_.emplace_back(work_->batch(lane));
    if (!plan_->training) totals_.weight += weight(batch);
    parts_.runner->begin({.lane = lane,
                          .batch = &batch,
                          .step = static_cast<std::uint32_t>(work_->step),
                          .mode = mode});
  }
}

void Executor::forward(const Op& op) {
  if (op.segment == 0) begin_wave(op);
  for (int lane = op.lanes.begin; lane < op.lanes.end; ++lane)
    parts_.runner->forward(op.segment, lane);
}

void Executor::turn(const Op& op) {
  if (op.segment == 0) begin_wave(op);
  for (int lane = op.lanes.begin; lane < op.lanes.end; ++lane) {
    if (plan_->training) parts_.gradients->begin_lane(op.segment, op.slot);
    const SegmentRunner::LossSums sums = parts_.runner->turn(lane, seed_);
    if (plan_->training) parts_.gradients->end_lane(lane);
    totals_.add(sums.sum, sums.metrics);
  }
}

void Executor::backward(const Op& op) {
  for (int lane = op.lanes.begin; lane < op.lanes.end; ++lane) {
    parts_.gradients->begin_lane(op.segment, op.slot);
    parts_.runner->backward(op.segment, lane);
    parts_.gradients->end_lane(lane);
  }
}

void Executor::reduce(const Op& op) {
  parts_.gradients->reduce(op, *parts_.reducer, *parts_.reduce);
}

void Executor::gather_gradients(const Op& op) {
  parts_.gradients->gather(
      op.unit, *parts_.reducer,
      call(StreamId::kReduce, comm::Purpose::kGatherGradients, unit_name(op)));
}

void Executor::commit() {
  if (plan_->training) add_squares();
  Totals mine = totals_;
  if (plan_->training)
    mine.weight = work_->weight;  // the exchange adds them up again
  Totals all;
  for (const Totals& other : parts_.commit->all(
           mine, call(StreamId::kCompute, comm::Purpose::kCommit, "step"))) {
    all.add(other);
  }
  totals_ = all;
}

// Of this rank's own slices, range by range: a tile's partial does not depend
// on who owns it.
void Executor::add_squares() {
  const int rank = parts_.communicator->rank();
  for (int u = 0; u < static_cast<int>(parts_.structure->units.size()); ++u) {
    const layout::Row& row = parts_.structure->unit(u).trainable;
    for (const layout::Range& range : row.ranges(rank)) {
      kernels::sum_of_squares(
          {.x = parts_.gradients->own_sum(u).range(range.offset, range.count),
           .sum = &totals_.squares},
          *parts_.compute);
    }
  }
}

}  // namespace quire::engine
