// Between an engine and checkpoints.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quire/checkpoint/load.h"
#include "quire/checkpoint/manifest.h"
#include "quire/checkpoint/save_request.h"
#include "quire/engine/engine.h"
#include "quire/nn/model.h"
#include "quire/train/detail/together.h"

namespace quire::train {

// A rank's part of a state; all are borrowed.
struct RankState {
  const nn::Model* model;
  engine::Engine* engine;
  Together* together;
};

// What a checkpoint says besides the state.
struct StateLabel {
  checkpoint::Progress progress;
  std::string config;     // resolved
  std::uint64_t kernels;  // the arithmetic's fingerprint
  std::uint64_t data;     // content of the training text, a note
  // About the model that the run started from; see convert/describe.h.
  std::map<std::string, std::string> notes = {};
};
inline constexpr const char* kDataNote = "data.train";

struct SaveTarget {
  std::string folder;  // the run's
  checkpoint::Keep keep = {};
  checkpoint::FileObserver observer = {};
};

struct Saved {
  std::string path;
  std::uint64_t fingerprint;
};

// What this rank answers for, as it lies in the engine.
std::vector<checkpoint::Part> parts_of(const nn::Model& model,
                                       const engine::Engine& engine);
// What save_state saves, for a save of another kind.
checkpoint::SaveRequest request_of(const RankState& state,
                                   const StateLabel& label,
                                   const SaveTarget& target);
// Where save_state saves.
std::string step_path(const StateLabel& label, const SaveTarget& target);

// Collective. Old steps go only once none is newer than the one saved.
Saved save_state(const RankState& state, const StateLabel& label,
                 const SaveTarget& target);
// Collective: fills the engine from a checkpoint's folder, which must hold all
// of a training's state and nothing else. Where files are damaged it says so on
// every rank, and the engine may hold anything until another is loaded.
std::optional<checkpoint::LoadDamage> resume_state(const RankState& state,
                                                   const std::string& folder);

}  // namespace quire::train
