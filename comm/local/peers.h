// The processes of a world's other ranks, watched for their death.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <vector>

#include "quire/comm/local/control.h"
#include "quire/core/descriptor.h"

namespace quire::comm::local {

// Thread-safe: shared by a rank's channels.
class Peers {
 public:
  Peers(const Control& control, int rank);
  // Publishes the death of the first rank that has died without leaving. A
  // launcher that is its parent knows the signal: it is given a moment to speak
  // first.
  void check();

 private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    Descriptor process;
    std::optional<Clock::time_point> seen_dead;
  };
  bool is_dead(int rank);

  Control control_;
  int rank_;
  std::mutex mutex_;
  std::vector<Peer> peers_;
};

}  // namespace quire::comm::local
