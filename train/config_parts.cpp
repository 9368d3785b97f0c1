// What the parts of a run take of its configuration.

#include "quire/optim/adam.h"
#include "quire/optim/sgd.h"
#include "quire/train/config.h"

namespace quire::train {

engine::Options engine_options(const RunConfig& config, int wave) {
  return {.seed = config.seed,
          .lanes = config.batch.lanes,
          .wave = wave,
          .stage = static_cast<engine::Stage>(config.stage),
          .prefetch = config.prefetch,
          .precision = config.precision,
          .clip_norm = config.optimizer.clip_norm,
          .groups = {.lr = config.optimizer.lr,
                     .weight_decay = config.optimizer.weight_decay,
                     .rules = config.optimizer.groups},
          .schedule = config.schedule};
}

std::unique_ptr<optim::Optimizer> make_optimizer(
    const OptimizerConfig& config) {
  if (config.type == "sgd") {
    return optim::sgd(
        {.momentum = config.momentum, .nesterov = config.nesterov});
  }
  const optim::AdamOptions options = {
      .beta1 = config.beta1, .beta2 = config.beta2, .eps = config.eps};
  return config.type == "adam" ? optim::adam(options) : optim::adamw(options);
}

nn::Model make_model(const RunConfig& config) {
  nn::Model model = models::build(config.model);
  for (const std::string& glob : config.freeze) model.freeze(glob);
  return model;
}

}  // namespace quire::train
