// Between an engine and checkpoints.
#pragma once

#include <cstdint>
#include <string>

#include "quire/checkpoint/manifest.h"
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
};
inline constexpr const char* kDataNote = "data.train";

struct SaveTarget {
  std::string folder;  // the run's
  int keep;            // whole steps; 0: all
};

struct Saved {
  std::string path;
  std::uint64_t fingerprint;
};

// Collective. Old steps go only once none is newer than the one saved.
Saved save_state(const RankState& state, const StateLabel& label,
                 const SaveTarget& target);
// Collective: fills the engine from a checkpoint's folder. Kinds that the
// engine has no place for are left, so that a model loads without its
// optimizer.
void load_state(const RankState& state, const std::string& folder);
// Collective: what save_state would give.
std::uint64_t fingerprint(const RankState& state);

}  // namespace quire::train
