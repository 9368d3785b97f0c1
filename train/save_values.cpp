#include "quire/train/save_values.h"

#include <filesystem>

#include "quire/checkpoint/save.h"
#include "quire/convert/describe.h"
#include "quire/core/stream.h"
#include "quire/core/thread_pool.h"
#include "quire/train/detail/state.h"

namespace quire::train {
std::uint64_t save_values(const std::string& folder, const Trained& trained,
                          comm::Communicator& communicator) {
  const auto from = std::filesystem::absolute(trained.origin->path()).string();
  const auto text = convert::describe(trained.origin->description(), from);
  checkpoint::SaveRequest request;
  request.progress.step = trained.steps;
  request.progress.updates = trained.engine->updates();
  request.config = text.config;
  request.notes = text.notes;
  for (const nn::ParameterInfo& parameter : trained.model->parameters())
    request.parameters.push_back(
        {parameter.name, parameter.shape, parameter.trainable});
  request.parts = parts_of(*trained.model, *trained.engine);
  ThreadPool thread(1);
  Allocator scratch({.owner = "save"});
  Stream stream(Stream::Kind::kInline, "save", thread, scratch);
  return checkpoint::save(folder, request, communicator, stream);
}

}  // namespace quire::train
