#include "quire/train/detail/state.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <span>
#include <sstream>
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

std::vector<checkpoint::SavedParameter> parameters_of(const nn::Model& model) {
  std::vector<checkpoint::SavedParameter> parameters;
  for (const nn::ParameterInfo& parameter : model.parameters()) {
    parameters.push_back({.name = parameter.name,
                          .shape = parameter.shape,
                          .trainable = parameter.trainable});
  }
  return parameters;
}

// "t master fp32\n": a kind that this rank holds some of, of trainable or
// frozen parameters.
std::string kinds_of(const RankState& state,
                     std::span<const engine::StateRange> held) {
  std::set<std::string> kinds;
  for (const engine::StateRange& range : held)
    kinds.insert(fmt::format("{} {} {}\n",
                             info(state, range.parameter).trainable ? 't' : 'f',
                             range.kind, name_of(range.data.dtype())));
  return fmt::format("{}", fmt::join(kinds, ""));
}

struct Kinds {
  std::vector<checkpoint::ExpectedState> trainable, frozen;
};

// A rank may hold nothing of a parameter, or of any: all know together.
Kinds kinds_of_all(const RankState& state,
                   std::span<const engine::StateRange> held) {
  std::set<std::string> lines;
  for (const auto& text : state.together->texts(kinds_of(state, held))) {
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.insert(line);
  }
  Kinds kinds;
  for (const std::string& line : lines) {
    const std::size_t space = line.rfind(' ');
    auto& of = line[0] == 't' ? kinds.trainable : kinds.frozen;
    of.push_back({.kind = line.substr(2, space - 2),
                  .dtype = parse_dtype(line.substr(space + 1))});
  }
  return kinds;
}

std::vector<checkpoint::ExpectedParameter> expected_of(
    const RankState& state, std::span<const engine::StateRange> held) {
  const Kinds kinds = kinds_of_all(state, held);
  std::vector<checkpoint::ExpectedParameter> expected;
  for (const nn::ParameterInfo& parameter : state.model->parameters())
    expected.push_back(
        {.name = parameter.name,
         .shape = parameter.shape,
         .states = parameter.trainable ? kinds.trainable : kinds.frozen});
  return expected;
}

std::vector<checkpoint::Part> as_parts(const nn::Model& model,
                                       std::vector<engine::StateRange> ranges) {
  std::vector<checkpoint::Part> parts;
  for (engine::StateRange& range : ranges) {
    parts.push_back({.kind = std::move(range.kind),
                     .parameter = model.parameter(range.parameter).name,
                     .first = range.first,
                     .data = std::move(range.data)});
  }
  return parts;
}

}  // namespace

std::vector<checkpoint::Part> parts_of(const nn::Model& model,
                                       const engine::Engine& engine) {
  return as_parts(model, engine.owned_state());
}

std::string step_path(const StateLabel& label, const SaveTarget& target) {
  return checkpoint::joined(target.folder,
                            checkpoint::step_name(label.progress.step));
}

checkpoint::SaveRequest request_of(const RankState& state,
                                   const StateLabel& label,
                                   const SaveTarget& target) {
  auto notes = label.notes;
  notes[kDataNote] = to_hex(label.data);
  return {.parts = parts_of(*state.model, *state.engine),
          .parameters = parameters_of(*state.model),
          .progress = label.progress,
          .config = label.config,
          .kernels = label.kernels,
          .notes = std::move(notes),
          .keep = target.keep,
          .observer = target.observer};
}

Saved save_state(const RankState& state, const StateLabel& label,
                 const SaveTarget& target) {
  Together& together = *state.together;
  return {.path = step_path(label, target),
          .fingerprint =
              checkpoint::save(target.folder, request_of(state, label, target),
                               together.communicator(), together.stream())};
}

std::optional<checkpoint::LoadDamage> resume_state(const RankState& state,
                                                   const std::string& folder) {
  auto held = state.engine->held_state();
  checkpoint::LoadRequest request{.parts = {},
                                  .parameters = expected_of(state, held)};
  request.parts = as_parts(*state.model, std::move(held));
  Together& together = *state.together;
  auto loaded = checkpoint::load(folder, request, together.communicator(),
                                 together.stream());
  if (!loaded.damage) state.engine->restored(loaded.progress.updates);
  return loaded.damage;
}

}  // namespace quire::train
