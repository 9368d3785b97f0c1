// One rank's engine with the threads, memory and batches that it trains with:
// fp32, AdamW, one lane a rank, stage 3.
#pragma once

#include <memory>
#include <vector>

#include "bench/model_case.h"
#include "quire/comm/communicator.h"
#include "quire/engine/dry_run.h"
#include "quire/engine/engine.h"
#include "quire/optim/adam.h"

namespace quire::bench {

double seconds_now();
double median(std::vector<double> values);

class Trainee {
 public:
  struct Share {
    std::int64_t samples;  // of this rank
    int threads;
  };
  // Collective. `communicator` is borrowed.
  Trainee(const ModelCase& c, const Share& share,
          comm::Communicator& communicator);

  void step();
  // Of one step after the other.
  double seconds(int steps);

  engine::Engine& engine() { return *engine_; }
  const Allocator& allocator() const { return allocator_; }
  // What the plan foretells of this rank.
  engine::DryRun dry_run() const;

 private:
  engine::Options options() const;

  nn::Model model_;
  nn::CrossEntropy loss_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  Share share_;
  int ranks_, rank_;
  Allocator allocator_;
  ThreadPool pool_;
  std::unique_ptr<engine::Engine> engine_;
  std::vector<Batch> batches_;
  std::int64_t steps_ = 0;
};

}  // namespace quire::bench
