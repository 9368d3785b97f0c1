// The saves of a run: each at once, or beside the steps that follow it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "quire/checkpoint/background_save.h"
#include "quire/core/allocator.h"
#include "quire/core/thread_pool.h"
#include "quire/train/detail/blueprint.h"
#include "quire/train/detail/state.h"
#include "quire/train/sink.h"

namespace quire::train {

// Collective, but for ended(), let_end() and what only asks.
class Saves {
 public:
  struct Setup {
    const Blueprint* blueprint;
    RankState state;
    checkpoint::FileObserver observer;
    Allocator* allocator;  // of the snapshot, if saves go on beside the steps
    ThreadPool* pool;
    std::function<void(const Event&)> tell;
  };
  explicit Saves(Setup setup);

  // A save between two steps, as checkpoint.async and checkpoint.when_busy say.
  void save(const StateLabel& label);
  // One that no step follows.
  void save_last(const StateLabel& label);

  // On this rank it is known what became of the save beside the steps.
  bool ended() const { return background_ && background_->finished(); }
  // Waits for the one under way, if there is one, and throws what it threw.
  void end();
  // Before the run ends by an error: lets the one under way end, or ends it.
  void let_end(const std::string& message, int exit_code);

  // Of the checkpoint of this very step; none if it was not saved.
  std::optional<std::uint64_t> fingerprint(std::int64_t step) const;
  double longest_pause() const { return pause_; }  // seconds without a step

 private:
  struct Writing {
    std::int64_t step;
    std::string path;
    double waited;  // seconds for an earlier one
    double pause;   // seconds until the steps went on
  };
  const RunConfig& config() const { return setup_.blueprint->config; }
  SaveTarget target() const;
  double save_at_once(const StateLabel& label);
  void save_apart(const StateLabel& label);
  bool refuses(const StateLabel& label) const;

  Setup setup_;
  std::optional<checkpoint::BackgroundSave> background_;
  std::optional<Writing> writing_;  // by background_
  std::int64_t saved_step_ = -1;    // of the newest checkpoint, and its hash
  std::uint64_t fingerprint_ = 0;
  double pause_ = 0.0;
};

}  // namespace quire::train
