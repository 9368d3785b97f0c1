// The engine of one rank: it walks a model's units by the plan, so that a rank
// holds its share of parameters, gradients and optimizer states and, for as
// long as they run, the units that are open.
//
//   Engine engine({.model = &net, .loss = &loss, .options = options, ...});
//   for (step = 0; ...; ++step)
//     engine.step(step, batches_of(step, engine.lanes()));
//
// Every rank of a world makes the same calls. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quire/comm/communicator.h"
#include "quire/core/allocator.h"
#include "quire/core/batch.h"
#include "quire/core/thread_pool.h"
#include "quire/engine/options.h"
#include "quire/engine/plan.h"
#include "quire/engine/structure.h"
#include "quire/engine/totals.h"
#include "quire/nn/loss.h"
#include "quire/nn/model.h"
#include "quire/optim/optimizer.h"

namespace quire::engine {

// All borrowed; they outlive the engine. Model, loss and optimizer may be
// shared by the ranks of a process.
struct Setup {
  const nn::Model* model;
  const nn::Loss* loss;
  const optim::Optimizer* optimizer;
  Options options;
  comm::Communicator* communicator;
  Allocator* allocator;
  ThreadPool* pool;
};

struct StepResult {
  // Why parameters did not change: no lane had anything to count, or a gradient
  // or the loss is not finite.
  enum class Skip : std::uint8_t { kNone, kNoWeight, kNotFinite };
  Skip skip = Skip::kNone;
  double loss = 0.0;            // mean over the weight of all lanes
  std::int64_t weight = 0;      // of all lanes
  double gradient_norm = 0.0;   // global, before clipping
  double gradient_scale = 1.0;  // what clipping multiplied by
  double lr_factor = 0.0;       // the schedule's
  std::vector<MetricValue> metrics;
};

struct Evaluation {
  double loss = 0.0;  // mean over the weight; 0 if there is none
  std::int64_t weight = 0;
  std::vector<MetricValue> metrics;
};

// A part of the training state: elements [first, first + numel) of one kind of
// one parameter.
struct StateRange {
  std::string kind;  // "master", "value" (frozen), or a state of the optimizer
  int parameter;     // id in the model
  std::int64_t first;
  Tensor data;  // written in place by a load
};

class Engine {
 public:
  // Collective. Checks the options, compares the plan and the arithmetic of all
  // ranks (UsageError naming the first difference), allocates, and sets initial
  // values.
  explicit Engine(Setup setup);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The bits of this machine: a hash of what every kind of kernel of a step
  // gives on fixed input, whose types and shapes are `lane`'s. The same for any
  // number of ranks and threads, stage and wave; another build, library or
  // instruction set gives another. UsageError, the same on all ranks, naming
  // the first operation that ranks disagree on. On the meta device it only
  // holds what it would hold. Before step 1; collective.
  std::uint64_t fingerprint_kernels(const Batch& lane);

  // This rank's lanes of a step, in the order in which step() takes their
  // batches.
  std::span<const int> lanes() const;

  // One step over all lanes: `step` keys random numbers and stands in messages.
  // Collective.
  StepResult step(std::int64_t step, std::span<const Batch> batches);

  // The mean loss over `lanes` lanes, in waves no wider than a step's, without
  // gradients or dropout. `batch(lane)` is asked once for every lane that this
  // rank gets. Collective.
  Evaluation evaluate(int lanes, const std::function<Batch(int lane)>& batch);

  // Accepted updates so far: the optimizer's and the schedule's counter.
  std::int64_t updates() const;

  // What this rank answers for: over all ranks every element of every kind
  // once.
  std::vector<StateRange> owned_state() const;
  // What a load has to fill, at stage 0 more than what is owned; then
  // restored() publishes the values and goes on behind that many updates.
  std::vector<StateRange> held_state() const;
  void restored(std::int64_t updates);

  // The model's values whole on this rank until close(): for generation and
  // export. Collective.
  void open();
  Tensor value(int parameter) const;
  void close();
  // A forward pass of an open engine over one batch: the last layer's values.
  // Not collective.
  Tensor forward(const Batch& batch);

  // Called around every op of later steps and evaluations, and may write into
  // it: the dry run's.
  struct OpObserver {
    std::function<void(Op&)> before;
    std::function<void(Op&)> after;
  };
  void observe(OpObserver observer);

  const Plan& plan() const;
  const Structure& structure() const;
  // What the plans of all steps and evaluations so far foretold, for this rank.
  comm::Traffic predicted_traffic() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quire::engine
