// Stochastic gradient descent, plain, with momentum or Nesterov's: the formulas
// are in kernels/optimizer_update.h. With momentum one state,
// "momentum_buffer".
#pragma once

#include <memory>

#include "quire/optim/optimizer.h"

namespace quire::optim {

struct SgdOptions {
  double momentum = 0.0;  // in [0, 1)
  bool nesterov = false;  // REQUIRES: momentum > 0
};
// Throws UsageError naming the option that is out of its range.
std::unique_ptr<Optimizer> sgd(const SgdOptions& options);

}  // namespace quire::optim
