// A model from the disk, ready to be run over any number of ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quire/convert/weights.h"
#include "quire/core/allocator.h"
#include "quire/core/thread_pool.h"
#include "quire/engine/engine.h"
#include "quire/nn/loss.h"
#include "quire/nn/model.h"
#include "quire/optim/optimizer.h"
#include "quire/optim/sgd.h"
#include "quire/train/detail/together.h"

namespace quire::train {

// What a saved model says of itself.
struct SavedFacts {
  std::int64_t vocab;
  std::int64_t context;
  std::int64_t sequence;      // trained with; the context if unknown
  std::int64_t lane_samples;  // trained with; 1 if unknown
};

class SavedModel {
 public:
  // Collective. `path`: what convert::open_weights reads. `threads`: per rank;
  // 0: chosen. Values alone are loaded, at stage 3; a run's are computed with
  // in the types of the run, all others in fp32.
  SavedModel(const std::string& path, int threads,
             comm::Communicator& communicator);

  const SavedFacts& facts() const { return facts_; }
  const convert::Description& description() const { return description_; }
  // What is odd about the files, one line each, on rank 0 at least.
  const std::vector<std::string>& warnings() const { return warnings_; }
  engine::Engine& engine() { return *engine_; }
  Together& together() { return together_; }

 private:
  std::string settled(const std::string& path);
  engine::Precision take_facts(const convert::Weights& weights);
  void make_engine(engine::Precision precision, int threads);

  Together together_;
  convert::Description description_;
  SavedFacts facts_{};
  std::vector<std::string> warnings_;
  nn::Model model_;
  nn::CrossEntropy loss_;
  std::unique_ptr<optim::Optimizer> optimizer_ = optim::sgd({});  // no states
  Allocator allocator_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<engine::Engine> engine_;
};

}  // namespace quire::train
