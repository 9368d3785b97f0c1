// Trainings that are saved and gone on with, for the programs that check bits.
#pragma once

#include <string>

#include "quire/checkpoint/checkpoint.h"
#include "quire/checkpoint/save.h"
#include "tests/support/training.h"

namespace quire::test {

// A stream for a checkpoint's calls.
struct Desk {
  ThreadPool pool{1};
  Allocator allocator{{}};
  Stream stream{Stream::Kind::kInline, "checkpoint", pool, allocator};
};

inline void save(const std::string& folder, std::int64_t step,
                 const nn::Model& model, engine::Engine& engine,
                 comm::Communicator& communicator) {
  checkpoint::SaveRequest request{
      .parts = {},
      .parameters = {},
      .progress = {.step = step, .updates = engine.updates(), .seed = 1}};
  for (const nn::ParameterInfo& info : model.parameters())
    request.parameters.push_back({info.name, info.shape, info.trainable});
  for (const engine::StateRange& range : engine.owned_state()) {
    request.parts.push_back({range.kind, model.parameter(range.parameter).name,
                             range.first, range.data});
  }
  Desk desk;
  checkpoint::save(folder, request, communicator, desk.stream);
}

inline void load(const std::string& folder, const nn::Model& model,
                 engine::Engine& engine) {
  const auto saved = checkpoint::Checkpoint::open(folder);
  for (const engine::StateRange& range : engine.held_state()) {
    saved.load(range.kind, model.parameter(range.parameter).name, range.first,
               range.data);
  }
  engine.restored(saved.manifest().progress.updates);
}

inline std::uint64_t fingerprint_of(const std::string& folder) {
  return checkpoint::Checkpoint::open(folder).manifest().fingerprint();
}

// `t` for `steps` steps in all, saved into the folder at their end.
inline Training saving(Training t, int steps, const std::string& folder) {
  t.steps = steps;
  t.end = [folder, steps, model = t.model](engine::Engine& engine,
                                           comm::Communicator& communicator) {
    save(folder, steps, models::gpt2(model), engine, communicator);
  };
  return t;
}

// `t` from the folder's newest step, which is `step`.
inline Training resuming(Training t, int step, const std::string& folder) {
  t.first_step = step;
  t.begin = [folder, model = t.model](engine::Engine& engine,
                                      comm::Communicator&) {
    load(folder, models::gpt2(model), engine);
  };
  return t;
}

}  // namespace quire::test
