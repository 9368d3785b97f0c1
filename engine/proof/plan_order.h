// What has finished before an op of a plan starts: by the order of its stream
// and by waits. The order in which a rank's thread issues work counts for
// nothing here, so that what is proved holds on a device too, whose streams run
// by themselves.
#pragma once

#include <array>
#include <vector>

#include "quire/engine/plan.h"

namespace quire::engine {

class PlanOrder {
 public:
  // REQUIRES: every op waits only for ops before it.
  explicit PlanOrder(const Plan& plan);

  // Op `a` has finished before op `b` starts.
  bool precedes(int a, int b) const;

 private:
  // Of every stream, its last op that has finished; -1: none.
  static constexpr std::size_t kStreams = 3;
  using Clock = std::array<int, kStreams>;
  static void join(Clock& clock, const Clock& other);

  std::vector<std::size_t> streams_;  // of every op
  std::vector<Clock> before_;         // every op starts
};

}  // namespace quire::engine
