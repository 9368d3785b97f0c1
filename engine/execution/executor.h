// Walks a plan, op by op, in its order. What an op does is in the stores and
// the runner; when it happens is the plan's.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "quire/comm/communicator.h"
#include "quire/core/batch.h"
#include "quire/engine/exchange.h"
#include "quire/engine/execution/segment_runner.h"
#include "quire/engine/plan.h"
#include "quire/engine/stores/gradient_store.h"
#include "quire/engine/stores/parameter_store.h"
#include "quire/engine/totals.h"
#include "quire/nn/loss.h"

namespace quire::engine {

// Used by the rank's thread.
class Executor {
 public:
  struct Parts {
    const Structure* structure;
    const nn::Loss* loss;
    ParameterStore* parameters;
    GradientStore* gradients;
    SegmentRunner* runner;
    // One stream and one communicator each: calls are launched in plan order on
    // every rank.
    Stream* compute;
    Stream* gather;
    Stream* reduce;
    comm::Communicator* communicator;
    comm::Communicator* gatherer;
    comm::Communicator* reducer;
    Exchange* weights;
    Exchange* commit;
  };
  explicit Executor(const Parts& parts) : parts_(parts) {}

  struct Work {
    std::int64_t step;
    // Asked once per lane, when its wave begins.
    std::function<Batch(int lane)> batch;
    // Training: of this rank's lanes, and what kUpdate does.
    std::int64_t weight = 0;
    std::function<void(const Totals&)> update = {};
    // Around an op, whose waits are over.
    std::function<void(Op&)> before = {}, after = {};
  };
  // The totals of all ranks. Training: totals.weight is zero if no lane counts;
  // then nothing ran.
  Totals run(Plan& plan, const Work& work);
  // What a lane counts for; 1 on the meta device, whose targets nobody can
  // count.
  std::int64_t weight(const Batch& batch) const;
  // What the ops that ran foretold.
  comm::Traffic traffic() const { return traffic_; }

 private:
  void locate(const Op& op);
  void execute(const Op& op);
  bool is_meta() const;
  void exchange_weights();
  void gather(const Op& op);
  void begin_wave(const Op& op);
  void forward(const Op& op);
  void turn(const Op& op);
  void backward(const Op& op);
  void reduce(const Op& op);
  void gather_gradients(const Op& op);
  void commit();
  void add_squares();
  comm::Call call(StreamId stream, comm::Purpose purpose,
                  std::string_view unit) const;
  Stream& stream(StreamId id) const;
  void finish(const Op& op, std::size_t index);
  const std::string& unit_name(const Op& op) const;

  Parts parts_;
  comm::Traffic traffic_;
  // Of the run in progress.
  const Plan* plan_ = nullptr;
  const Work* work_ = nullptr;
  Totals totals_;
  float seed_ = 0.0f;
  std::vector<Event> events_;  // of every op
  std::deque<Batch> batches_;  // of the wave
};

}  // namespace quire::engine
