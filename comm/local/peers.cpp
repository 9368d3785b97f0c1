#include "quire/comm/local/peers.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "quire/comm/launcher/process.h"
#include "quire/comm/local/first_failure.h"

namespace quire::comm::local {

Peers::Peers(const Control& control, int rank)
    : control_(control), rank_(rank), peers_(control.size()) {}

bool Peers::is_dead(int rank) {
  const RankBlock& block = control_.rank(rank);
  if (rank == rank_ || block.state.load() != RankState::kJoined) return false;
  const int pid = block.pid.load();
  if (pid == getpid()) return false;
  Descriptor& process = peers_[rank].process;
  if (!process.is_open()) process = open_process(pid);
  const bool dead = process.is_open() ? has_ended(process)
                                      : kill(pid, 0) != 0 && errno == ESRCH;
  if (!dead) return false;
  return block.state.load() == RankState::kJoined;  // it may just have left
}

void Peers::check() {
  constexpr auto kLauncherSpeaksFirst = std::chrono::milliseconds(300);
  const std::lock_guard lock(mutex_);
  for (int rank = 0; rank < control_.size(); ++rank) {
    if (!is_dead(rank)) continue;
    const Clock::time_point now = Clock::now();
    const Clock::time_point seen = peers_[rank].seen_dead.value_or(now);
    peers_[rank].seen_dead = seen;
    if (now - seen < kLauncherSpeaksFirst) continue;
    publish(control_,
            failure_of(
                control_, rank,
                fmt::format("process {} died", control_.rank(rank).pid.load())),
            rank_, Witness::kOfTheDead);
  }
}

}  // namespace quire::comm::local
