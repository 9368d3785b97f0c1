#include "quire/train/detail/saved_model.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "quire/checkpoint/checkpoint.h"
#include "quire/convert/huggingface.h"
#include "quire/core/cores.h"
#include "quire/core/error.h"
#include "quire/train/config.h"
#include "quire/train/detail/state.h"

namespace quire::train {
namespace {

constexpr int kWave = 4;  // lanes per rank that are evaluated side by side

bool is_hugging_face(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path folder = path;
  return convert::is_hugging_face(path) &&
         !std::filesystem::exists(folder / checkpoint::kManifestName, ignored);
}

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

}  // namespace

SavedModel::SavedModel(const std::string& path, int threads,
                       comm::Communicator& communicator)
    : together_(communicator),
      allocator_({.owner = fmt::format("rank {}", communicator.rank())}) {
  communicator.locate({.step = -1, .phase = "load", .layer = path});
  if (is_hugging_face(path))
    load_hugging_face(path, threads);
  else
    load_checkpoint(path, threads);
}

// Rank 0 says which step: a run that goes on may save another meanwhile.
void SavedModel::load_checkpoint(const std::string& path, int threads) {
  const std::string folder = together_.from_root([&] {
    const auto saved = checkpoint::Checkpoint::open(path);
    warnings_ = saved.skipped();
    return saved.folder();
  });
  const auto manifest = checkpoint::read_manifest(folder);
  require_config(manifest, folder);
  const RunConfig config =
      parse_config(manifest.config,
                   folder + "/" + std::string(checkpoint::kManifestName), {});
  facts_ = {.vocab = config.gpt2.vocab,
            .context = config.gpt2.context,
            .sequence = config.data.sequence,
            .lane_samples = config.batch.lane_samples};
  make_engine(make_model(config), config.precision, threads);
  load_state({&model_, engine_.get(), &together_}, folder);
}

void SavedModel::make_engine(nn::Model model, engine::Precision precision,
                             int threads) {
  comm::Communicator& communicator = together_.communicator();
  model_ = std::move(model);
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
