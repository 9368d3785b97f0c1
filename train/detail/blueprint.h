// What a configuration names, built: the parts of a run that hold no values.
#pragma once

#include <functional>
#include <memory>

#include "quire/core/batch.h"
#include "quire/engine/dry_run.h"
#include "quire/nn/loss.h"
#include "quire/nn/model.h"
#include "quire/optim/optimizer.h"
#include "quire/train/config.h"

namespace quire::train {

struct Blueprint {
  explicit Blueprint(const RunConfig& given);
  Blueprint(const Blueprint&) = delete;  // a dry run's setup points into it
  Blueprint& operator=(const Blueprint&) = delete;

  // Borrows from this.
  engine::DryRunSetup dry_run_setup(int wave, int threads) const;
  Batch lane() const;  // shapes alone: on the meta device
  // The run goes on while a copy of its state is written.
  bool saves_apart() const;
  std::int64_t step_samples() const {
    return config.batch.lanes * config.batch.lane_samples;
  }

  RunConfig config;
  nn::Model model;
  nn::CrossEntropy loss;
  std::unique_ptr<optim::Optimizer> optimizer;

 private:
  std::function<std::shared_ptr<void>(const engine::Engine&, Allocator&)>
  held_besides() const;
};

}  // namespace quire::train
