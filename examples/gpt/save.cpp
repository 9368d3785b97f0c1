#include "save.h"

using namespace quire;

void save(const std::string& folder, const checkpoint::Progress& done,
          const Rank& rank) {
  checkpoint::SaveRequest request;
  request.progress = done;
  for (const nn::ParameterInfo& info : rank.model.parameters())
    request.parameters.push_back({info.name, info.shape, info.trainable});
  for (const engine::StateRange& range : rank.engine.owned_state()) {
    request.parts.push_back(
        {.kind = range.kind,
         .parameter = rank.model.parameter(range.parameter).name,
         .first = range.first,
         .data = range.data});
  }
  ThreadPool thread(1);
  Allocator scratch({});
  Stream stream(Stream::Kind::kInline, "save", thread, scratch);
  checkpoint::save(folder, request, rank.communicator, stream);
}
