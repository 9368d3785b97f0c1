#include <span>

#include "quire/convert/huggingface.h"
#include "quire/models/gpt2.h"
#include "quire/train/detail/saved_model.h"

namespace quire::train {
namespace {

void read_values(const convert::HuggingFaceModel& source,
                 const nn::Model& model, engine::Engine& engine) {
  for (const engine::StateRange& range : engine.held_state()) {
    const auto& info = model.parameter(range.parameter);
    source.read(info.name, range.first,
                std::span(range.data.data<float>(),
                          static_cast<std::size_t>(range.data.numel())));
  }
  engine.restored(0);
}

}  // namespace

void SavedModel::load_hugging_face(const std::string& path, int threads) {
  const convert::HuggingFaceModel source(path);
  warnings_ = source.warnings();
  const models::Gpt2Options& options = source.options();
  facts_ = {.vocab = options.vocab,
            .context = options.context,
            .sequence = options.context,
            .lane_samples = 1};
  make_engine(models::gpt2(options), {}, threads);
  read_values(source, model_, *engine_);
}

}  // namespace quire::train
