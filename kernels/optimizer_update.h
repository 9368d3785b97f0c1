// One pass over a range of elements that are stepped: reads the gradient,
// updates states and master, writes the published value. Arithmetic in fp32;
// the scalars are computed in double by the optimizer and rounded once.
#pragma once

#include "quire/core/stream.h"
#include "quire/core/tensor.h"

namespace quire::kernels {

// Adam (Kingma, Ba, 2015), or AdamW (Loshchilov, Hutter, 2019) if decoupled:
//   g = grad * grad_scale (+ decay * master unless decoupled)
//   master *= 1 - lr * decay                            if decoupled
//   m = m + (g - m) (1 - beta1)
//   v = beta2 v + (1 - beta2) g^2
//   master -= lr / correction1 * m / (sqrt(v) / sqrt(correction2) + eps)
// with correction_i = 1 - beta_i^t.
struct AdamUpdate {
  Tensor grad;    // [n] fp32
  Tensor master;  // [n] fp32
  Tensor m, v;    // [n] fp32
  // [n] of any float type: master rounded; may be master itself.
  Tensor published;
  double lr, beta1, beta2, eps, decay;
  double correction1, correction2;
  bool decoupled = true;
  double grad_scale = 1.0;
};
void adam_update(const AdamUpdate& args, Stream& stream);

// Stochastic gradient descent with momentum (Polyak, 1964) or Nesterov's
// (Sutskever et al., 2013):
//   g = grad * grad_scale + decay * master
//   velocity = momentum velocity + g              (the first step: g)
//   master -= lr * (nesterov ? g + momentum velocity : velocity)
struct SgdUpdate {
  Tensor grad, master;
  Tensor velocity;  // undefined iff momentum == 0; then master -= lr * g
  Tensor published;
  double lr, momentum, decay;
  bool nesterov = false;
  double grad_scale = 1.0;
};
void sgd_update(const SgdUpdate& args, Stream& stream);

// Every implementation begins with it: UsageError naming the kernel and what it
// got unless the arguments are as above.
void check(const AdamUpdate& args);
void check(const SgdUpdate& args);

namespace reference {
void adam_update(const AdamUpdate& args, Stream& stream);
void sgd_update(const SgdUpdate& args, Stream& stream);
}  // namespace reference

}  // namespace quire::kernels
