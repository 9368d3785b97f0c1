// Work that every rank does on its own, and that all of them end together: well
// or with the first failing rank's error.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "quire/comm/communicator.h"
#include "quire/core/stream.h"

namespace quire::checkpoint {

// Ranks meet in rounds: one gathered text of each. A rank that has done its
// work waits in rounds for the others, and those still at work join one now and
// then, so that slow work is never mistaken for a stall.
class Rounds {
 public:
  Rounds(comm::Communicator& communicator, Stream& stream, double every_s)
      : communicator_(communicator), stream_(stream), every_s_(every_s) {}

  // Collective. Runs `work` here and returns what it returned on every rank. If
  // it threw on any, all ranks throw the lowest such rank's error, named.
  std::vector<std::string> run(const std::function<std::string()>& work);
  // Called by work, often: joins a round if the last one is `every_s` ago.
  void busy();

 private:
  using Clock = std::chrono::steady_clock;
  std::string outcome_of(const std::function<std::string()>& work);
  std::vector<std::string> meet(const std::string& report);

  comm::Communicator& communicator_;
  Stream& stream_;
  double every_s_;
  Clock::time_point last_ = Clock::now();
  bool ended_ = false;  // for all ranks: nobody meets again
};

}  // namespace quire::checkpoint
