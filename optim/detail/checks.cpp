#include "quire/optim/detail/checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "quire/core/error.h"

namespace quire::optim {

void require_fraction(std::string_view key, double value) {
  if (value >= 0.0 && value < 1.0) return;
  throw UsageError(fmt::format(
      "{} is {}; expected a number from 0 up to, but not, 1", key, value));
}

void require_rate(std::string_view key, double value) {
  if (std::isfinite(value) && value >= 0.0) return;
  throw UsageError(fmt::format(
      "{} is {}; expected a finite number of at least 0", key, value));
}

void require_update(const Optimizer& optimizer, const Optimizer::Range& range,
                    const Optimizer::Scalars& scalars) {
  const std::vector<std::string> states = optimizer.states();
  if (range.states.size() != states.size()) {
    throw UsageError(fmt::format(
        "an update of {} got {} states; expected {}: [{}]", optimizer.type(),
        range.states.size(), states.size(), fmt::join(states, ", ")));
  }
  if (scalars.step < 1) {
    throw UsageError(
        fmt::format("an update of {} with step {}; the first update is step 1",
                    optimizer.type(), scalars.step));
  }
}

}  // namespace quire::optim
