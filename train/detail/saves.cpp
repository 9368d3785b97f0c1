#include "quire/train/detail/saves.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "quire/train/detail/speed.h"

namespace quire::train {

Saves::Saves(Setup setup) : setup_(std::move(setup)) {
  if (!setup_.blueprint->saves_apart()) return;
  const auto parts = parts_of(*setup_.state.model, *setup_.state.engine);
  background_.emplace(checkpoint::BackgroundSave::Setup{
      .parts = parts,
      .communicator = &setup_.state.together->communicator(),
      .allocator = setup_.allocator});
}

SaveTarget Saves::target() const {
  return {.folder = config().output,
          .keep = {.newest = config().checkpoint_keep,
                   .every = config().checkpoint_keep_every},
          .observer = setup_.observer};
}

void Saves::save(const StateLabel& label) {
  if (background_) return save_apart(label);
  pause_ = std::max(pause_, save_at_once(label));
}

void Saves::save_last(const StateLabel& label) {
  end();
  save_at_once(label);
}

// Returns the seconds that it took.
double Saves::save_at_once(const StateLabel& label) {
  const Stopwatch watch;
  const Saved saved = save_state(setup_.state, label, target());
  const double seconds = watch.seconds();
  saved_step_ = label.progress.step;
  fingerprint_ = saved.fingerprint;
  setup_.tell(SaveEvent{.step = saved_step_,
                        .path = saved.path,
                        .seconds = seconds,
                        .pause = seconds});
  return seconds;
}

bool Saves::refuses(const StateLabel& label) const {
  if (!writing_ ||
      config().checkpoint_when_busy != RunConfig::WhenBusy::kRefuse)
    return false;
  setup_.tell(MessageEvent{
      MessageEvent::Level::kWarning,
      fmt::format("step {} is not saved: step {} is still being written, and "
                  "checkpoint.when_busy is refuse",
                  label.progress.step, writing_->step)});
  return true;
}

void Saves::save_apart(const StateLabel& label) {
  if (refuses(label)) return;
  const Stopwatch watch;
  end();
  const double waited = watch.seconds();
  background_->start(config().output, request_of(setup_.state, label, target()),
                     *setup_.pool);
  writing_ = {.step = label.progress.step,
              .path = step_path(label, target()),
              .waited = waited,
              .pause = watch.seconds()};
  pause_ = std::max(pause_, writing_->pause);
}

void Saves::end() {
  if (!writing_) return;
  const Writing written = *std::exchange(writing_, std::nullopt);
  const auto outcome = background_->wait();
  saved_step_ = written.step;
  fingerprint_ = outcome.fingerprint;
  setup_.tell(SaveEvent{.step = written.step,
                        .path = written.path,
                        .seconds = written.waited + outcome.seconds,
                        .pause = written.pause});
}

// A checkpoint is worth a wait that the peers of this rank can stand.
void Saves::let_end(const std::string& message, int exit_code) {
  if (!writing_ || background_->wait_for(config().timeout_s / 2)) return;
  comm::Communicator& communicator = setup_.state.together->communicator();
  communicator.abort(failure_at(communicator, message, exit_code));
}

std::optional<std::uint64_t> Saves::fingerprint(std::int64_t step) const {
  if (step != saved_step_) return std::nullopt;
  return fingerprint_;
}

}  // namespace quire::train
