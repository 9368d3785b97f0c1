// Adam (Kingma, Ba, 2015) and AdamW (Loshchilov, Hutter, 2019): the formulas
// are in kernels/optimizer_update.h. States "exp_avg" and "exp_avg_sq".
#pragma once

#include <memory>

#include "quire/optim/optimizer.h"

namespace quire::optim {

struct AdamOptions {
  double beta1 = 0.9;    // in [0, 1)
  double beta2 = 0.999;  // in [0, 1)
  double eps = 1e-8;     // above 0, in fp32 too
};
// Both throw UsageError naming the option that is out of its range.
// Decay apart from the gradient.
std::unique_ptr<Optimizer> adamw(const AdamOptions& options);
// Decay added to the gradient.
std::unique_ptr<Optimizer> adam(const AdamOptions& options);

}  // namespace quire::optim
