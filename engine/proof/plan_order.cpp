#include "quire/engine/proof/plan_order.h"

#include <algorithm>

namespace quire::engine {

PlanOrder::PlanOrder(const Plan& plan) {
  Clock none;
  none.fill(-1);
  std::array<Clock, kStreams> after;  // the latest op of every stream
  after.fill(none);
  for (const Op& op : plan.ops) {
    const auto stream = static_cast<std::size_t>(op.stream);
    Clock clock = after[stream];
    for (int wait : op.waits) {
      const auto index = static_cast<std::size_t>(wait);
      join(clock, before_[index]);
      clock[streams_[index]] = std::max(clock[streams_[index]], wait);
    }
    after[stream] = clock;
    after[stream][stream] = static_cast<int>(streams_.size());
    streams_.push_back(stream);
    before_.push_back(clock);
  }
}

void PlanOrder::join(Clock& clock, const Clock& other) {
  for (std::size_t i = 0; i < kStreams; ++i)
    clock[i] = std::max(clock[i], other[i]);
}

bool PlanOrder::precedes(int a, int b) const {
  return before_[static_cast<std::size_t>(b)]
                [streams_[static_cast<std::size_t>(a)]] >= a;
}

}  // namespace quire::engine
