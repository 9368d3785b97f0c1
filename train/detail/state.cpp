#include "quire/train/detail/state.h"

#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "quire/checkpoint/checkpoint.h"
#include "quire/checkpoint/run_folder.h"
#include "quire/checkpoint/save.h"
#include "quire/core/hash.h"

namespace quire::train {
namespace {

const nn::ParameterInfo& info(const RankState& state, int parameter) {
  return state.model->parameter(parameter);
}

std::vector<checkpoint::Part> parts_of(const RankState& state) {
  std::vector<checkpoint::Part> parts;
  for (engine::StateRange& range : state.engine->owned_state()) {
    parts.push_back({.kind = std::move(range.kind),
                     .parameter = info(state, range.parameter).name,
                     .first = range.first,
                     .data = std::move(range.data)});
  }
  return parts;
}

std::vector<checkpoint::SavedParameter> parameters_of(const nn::Model& model) {
  std::vector<checkpoint::SavedParameter> parameters;
  for (const nn::ParameterInfo& parameter : model.parameters()) {
    parameters.push_back({.name = parameter.name,
                          .shape = parameter.shape,
                          .trainable = parameter.trainable});
  }
  return parameters;
}

void prune(const SaveTarget& target, const std::string& saved) {
  if (target.keep < 1) return;
  const auto steps = checkpoint::list_steps(target.folder);
  if (!steps.empty() && steps.back().path == saved)
    checkpoint::prune(target.folder, target.keep);
}

// All parameters, with the kinds of which this rank holds a part.
std::vector<checkpoint::ExpectedParameter> expected_of(
    const RankState& state, std::span<const engine::StateRange> held) {
  std::vector<checkpoint::ExpectedParameter> expected;
  for (const nn::ParameterInfo& parameter : state.model->parameters()) {
    expected.push_back(
        {.name = parameter.name, .shape = parameter.shape, .states = {}});
  }
  for (const engine::StateRange& range : held) {
    expected[static_cast<std::size_t>(range.parameter)].states.push_back(
        {.kind = range.kind, .dtype = range.data.dtype()});
  }
  return expected;
}

}  // namespace

Saved save_state(const RankState& state, const StateLabel& label,
                 const SaveTarget& target) {
  Together& together = *state.together;
  Saved saved{
      .path = target.folder + "/" + checkpoint::step_name(label.progress.step),
      .fingerprint = 0};
  saved.fingerprint =
      checkpoint::save(target.folder,
                       {.parts = parts_of(state),
                        .parameters = parameters_of(*state.model),
                        .progress = label.progress,
                        .config = label.config,
                        .kernels = label.kernels,
                        .notes = {{kDataNote, to_hex(label.data)}}},
                       together.communicator(), together.stream());
  if (together.communicator().rank() == 0) prune(target, saved.path);
  return saved;
}

void load_state(const RankState& state, const std::string& folder) {
  comm::Communicator& communicator = state.together->communicator();
  communicator.enter("load", std::filesystem::path(folder).filename().string());
  const auto saved = checkpoint::Checkpoint::open(folder);
  const auto held = state.engine->held_state();
  saved.expect(expected_of(state, held),
               checkpoint::Checkpoint::States::kNamed);
  for (const engine::StateRange& range : held) {
    const std::string& name = info(state, range.parameter).name;
    communicator.enter("load", saved.file_of(range.kind, name, range.first));
    saved.load(range.kind, name, range.first, range.data);
  }
  state.engine->restored(saved.manifest().progress.updates);
}

}  // namespace quire::train
