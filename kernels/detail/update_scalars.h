// The scalars of an update, computed in double and rounded to fp32 once.
#pragma once

#include <cmath>

#include "quire/kernels/optimizer_update.h"

namespace quire::kernels {

struct AdamScalars {
  explicit AdamScalars(const AdamUpdate& args)
      : grad_scale(static_cast<float>(args.grad_scale)),
        l2(static_cast<float>(args.decoupled ? 0.0 : args.decay)),
        shrink(static_cast<float>(args.decoupled ? 1.0 - args.lr * args.decay
                                                 : 1.0)),
        rest1(static_cast<float>(1.0 - args.beta1)),
        beta2(static_cast<float>(args.beta2)),
        rest2(static_cast<float>(1.0 - args.beta2)),
        step(static_cast<float>(args.lr / args.correction1)),
        root(static_cast<float>(std::sqrt(args.correction2))),
        eps(static_cast<float>(args.eps)) {}

  float grad_scale;
  float l2;      // decay that is added to the gradient
  float shrink;  // factor of the master under decoupled decay
  float rest1;   // 1 - beta1
  float beta2;
  float rest2;  // 1 - beta2
  float step;   // lr / correction1
  float root;   // sqrt(correction2)
  float eps;
};

struct SgdScalars {
  explicit SgdScalars(const SgdUpdate& args)
      : grad_scale(static_cast<float>(args.grad_scale)),
        decay(static_cast<float>(args.decay)),
        momentum(static_cast<float>(args.momentum)),
        lr(static_cast<float>(args.lr)) {}

  float grad_scale;
  float decay;
  float momentum;
  float lr;
};

}  // namespace quire::kernels
