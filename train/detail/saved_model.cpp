#include "quire/train/detail/saved_model.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "quire/checkpoint/checkpoint.h"
#include "quire/core/cores.h"
#include "quire/core/error.h"
#include "quire/train/config.h"
#include "quire/train/load_values.h"

namespace quire::train {
namespace {

constexpr int kWave = 4;  // lanes per rank that are evaluated side by side

// A program of a user's own may save without one.
void require_config(const checkpoint::Manifest& manifest,
                    const std::string& folder) {
  if (manifest.config != "{}") return;
  throw UsageError(fmt::format(
      "{} holds no configuration, so its network is not known; expected that "
      "of a run, as `quire train` saves it: give SaveRequest::config where "
      "this checkpoint is saved",
      folder));
}

// A conversion knows the model alone.
std::optional<RunConfig> run_of(const std::string& folder) {
  const auto manifest = checkpoint::read_manifest(folder);
  require_config(manifest, folder);
  const auto json = nlohmann::json::parse(manifest.config, nullptr, false);
  if (!json.is_object() || !json.contains("steps")) return std::nullopt;
  return parse_config(manifest.config,
                      folder + "/" + std::string(checkpoint::kManifestName),
                      {});
}

}  // namespace

SavedModel::SavedModel(const std::string& path, int threads,
                       comm::Communicator& communicator)
    : together_(communicator),
      allocator_({.owner = fmt::format("rank {}", communicator.rank())}) {
  communicator.locate({.step = -1, .phase = "load", .layer = path});
  const auto weights = convert::open_weights(settled(path));
  description_ = weights->description();
  warnings_.insert(warnings_.end(), weights->warnings().begin(),
                   weights->warnings().end());
  const engine::Precision precision = take_facts(*weights);
  model_ = models::build(description_.options);
  make_engine(precision, threads);
  load_values(*engine_, model_, *weights);
}

// Rank 0 says which step: a run that goes on may save another meanwhile.
std::string SavedModel::settled(const std::string& path) {
  return together_.from_root([&] {
    if (convert::format_of(path) != convert::Format::kQuire) return path;
    const auto saved = checkpoint::Checkpoint::open(path);
    require_config(saved.manifest(), saved.folder());
    warnings_ = saved.skipped();
    return saved.folder();
  });
}

engine::Precision SavedModel::take_facts(const convert::Weights& weights) {
  const models::Options& options = description_.options;
  facts_ = {.vocab = models::vocab_of(options),
            .context = models::context_of(options),
            .sequence = models::context_of(options),
            .lane_samples = 1};
  if (weights.format() != convert::Format::kQuire) return {};
  const auto run = run_of(weights.path());
  if (!run) return {};
  facts_.sequence = run->data.sequence;
  facts_.lane_samples = run->batch.lane_samples;
  return run->precision;
}

void SavedModel::make_engine(engine::Precision precision, int threads) {
  comm::Communicator& communicator = together_.communicator();
  pool_ = std::make_unique<ThreadPool>(
      threads > 0 ? threads : default_threads(communicator.size()));
  engine_ = std::make_unique<engine::Engine>(
      engine::Setup{.model = &model_,
                    .loss = &loss_,
                    .optimizer = optimizer_.get(),
                    .options = {.lanes = kWave * communicator.size(),
                                .wave = kWave,
                                .precision = precision},
                    .communicator = &communicator,
                    .allocator = &allocator_,
                    .pool = pool_.get()});
}

}  // namespace quire::train
