// What optimizers refuse.
#pragma once

#include <string_view>

#include "quire/optim/optimizer.h"

namespace quire::optim {

// Throws UsageError naming the key unless 0 <= value < 1.
void require_fraction(std::string_view key, double value);
// Throws UsageError naming the key unless value is finite and not negative.
void require_rate(std::string_view key, double value);
// Throws UsageError unless `range` has the optimizer's states and the step
// counts from 1. Shapes and types are the kernels' to check.
void require_update(const Optimizer& optimizer, const Optimizer::Range& range,
                    const Optimizer::Scalars& scalars);

}  // namespace quire::optim
