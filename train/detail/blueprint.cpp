#include "quire/train/detail/blueprint.h"

#include <string>
#include <vector>

#include "quire/checkpoint/snapshot.h"
#include "quire/data/token_batch.h"
#include "quire/train/detail/state.h"

namespace quire::train {

Blueprint::Blueprint(const RunConfig& given)
    : config(given),
      model(make_model(given)),
      optimizer(make_optimizer(given.optimizer)) {
  std::vector<std::string> names;
  for (const nn::ParameterInfo& parameter : model.parameters())
    names.push_back(parameter.name);
  optim::check_rules(engine_options(config, 1).groups, names);
}

engine::DryRunSetup Blueprint::dry_run_setup(int wave, int threads) const {
  return {.model = &model,
          .loss = &loss,
          .optimizer = optimizer.get(),
          .options = engine_options(config, wave),
          .threads = threads,
          .lane = lane(),
          .evaluates = !config.data.validation.empty(),
          .fingerprints = true,
          .holds = held_besides()};
}

bool Blueprint::saves_apart() const {
  return config.checkpoint_async && config.checkpoint_every > 0;
}

std::function<std::shared_ptr<void>(const engine::Engine&, Allocator&)>
Blueprint::held_besides() const {
  if (!saves_apart()) return {};
  return [this](const engine::Engine& engine, Allocator& allocator) {
    return std::make_shared<checkpoint::Snapshot>(parts_of(model, engine),
                                                  allocator);
  };
}

Batch Blueprint::lane() const {
  return data::meta_token_batch(config.batch.lane_samples,
                                config.data.sequence);
}

}  // namespace quire::train
