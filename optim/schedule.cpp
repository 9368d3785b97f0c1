#include "quire/optim/schedule.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "quire/core/error.h"

namespace quire::optim {
namespace {

// How far `update` is from the end of the warm-up to the last step, in [0, 1].
double progress(const Schedule& schedule, std::int64_t update) {
  if (update >= schedule.steps) return 1.0;
  return static_cast<double>(update - schedule.warmup) /
         static_cast<double>(schedule.steps - schedule.warmup);
}

}  // namespace

double Schedule::factor(std::int64_t update) const {
  if (update < warmup) {
    return static_cast<double>(update + 1) / static_cast<double>(warmup);
  }
  switch (type) {
    case Type::kConstant:
      return 1.0;
    case Type::kLinear:
      return 1.0 - (1.0 - final_ratio) * progress(*this, update);
    case Type::kCosine:
      return final_ratio +
             (1.0 - final_ratio) *
                 (1.0 + std::cos(std::numbers::pi * progress(*this, update))) /
                 2.0;
  }
  throw UsageError(
      fmt::format("schedule type {} is unknown", static_cast<int>(type)));
}

void check_schedule(const Schedule& schedule) {
  if (schedule.warmup < 0) {
    throw UsageError(fmt::format(
        "schedule.warmup is {}; expected at least 0 updates", schedule.warmup));
  }
  if (!(schedule.final_ratio >= 0.0 && schedule.final_ratio <= 1.0)) {
    throw UsageError(
        fmt::format("schedule.final_ratio is {}; expected a number from 0 to 1",
                    schedule.final_ratio));
  }
  if (schedule.type != Schedule::Type::kConstant && schedule.steps < 1) {
    throw UsageError(
        fmt::format("schedule.steps is {}; linear and cosine schedules end at "
                    "the last step: expected at least 1",
                    schedule.steps));
  }
}

}  // namespace quire::optim
