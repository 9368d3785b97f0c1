// Learning-rate schedules: a factor of the base rate as a function of accepted
// updates alone.
#pragma once

#include <cstdint>

namespace quire::optim {

struct Schedule {
  enum class Type : std::uint8_t { kConstant, kLinear, kCosine };
  Type type = Type::kConstant;
  // Updates: update k < warmup has factor (k + 1) / warmup.
  std::int64_t warmup = 0;
  // Of the whole run, warm-up included; linear and cosine end there.
  std::int64_t steps = 0;
  // The factor of linear and cosine from update `steps` on.
  double final_ratio = 0.0;

  // Of update k = 0, 1, ... With p = (k - warmup) / (steps - warmup), clipped
  // to [0, 1]:
  //   linear  1 - (1 - final) p
  //   cosine  final + (1 - final) (1 + cos(pi p)) / 2
  double factor(std::int64_t update) const;
};

// Throws UsageError naming the key unless warmup >= 0, final_ratio is in [0, 1]
// and, of linear and cosine, steps >= 1. A run may end within its warm-up.
void check_schedule(const Schedule& schedule);

}  // namespace quire::optim
