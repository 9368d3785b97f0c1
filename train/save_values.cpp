#include "quire/train/save_values.h"

#include <filesystem>

#include "quire/checkpoint/save.h"
#include "quire/convert/describe.h"
#include "quire/core/stream.h"
#include "quire/core/thread_pool.h"

namespace quire::train {
namespace {

void add_state(const Trained& trained, checkpoint::SaveRequest& request) {
  for (const nn::ParameterInfo& parameter : trained.model->parameters()) {
    request.parameters.push_back({.name = parameter.name,
                                  .shape = parameter.shape,
                                  .trainable = parameter.trainable});
  }
  for (engine::StateRange& range : trained.engine->owned_state()) {
    request.parts.push_back(
        {.kind = std::move(range.kind),
         .parameter = trained.model->parameter(range.parameter).name,
         .first = range.first,
         .data = std::move(range.data)});
  }
}

}  // namespace

std::uint64_t save_values(const std::string& folder, const Trained& trained,
                          comm::Communicator& communicator) {
  const auto from = std::filesystem::absolute(trained.origin->path()).string();
  const auto text = convert::describe(trained.origin->description(), from);
  checkpoint::SaveRequest request;
  request.progress.step = trained.steps;
  request.progress.updates = trained.engine->updates();
  request.config = text.config;
  request.notes = text.notes;
  add_state(trained, request);
  ThreadPool thread(1);
  Allocator scratch({.owner = "save"});
  Stream stream(Stream::Kind::kInline, "save", thread, scratch);
  return checkpoint::save(folder, request, communicator, stream);
}

}  // namespace quire::train
