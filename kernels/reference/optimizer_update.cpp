#include "quire/kernels/optimizer_update.h"

#include <cmath>

#include "quire/kernels/detail/element_types.h"
#include "quire/kernels/detail/update_scalars.h"

namespace quire::kernels::reference {
namespace {

void publish(const Tensor& master, const Tensor& published) {
  visit_float_type(published.dtype(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < master.numel(); ++i) {
      published.data<T>()[i] = T(master.data<float>()[i]);
    }
  });
}

void adam_element(const AdamUpdate& args, std::int64_t i) {
  const AdamScalars s(args);
  float& master = args.master.data<float>()[i];
  float& m = args.m.data<float>()[i];
  float& v = args.v.data<float>()[i];
  const float g = args.grad.data<float>()[i] * s.grad_scale + s.l2 * master;
  m += (g - m) * s.rest1;
  v = s.beta2 * v + s.rest2 * (g * g);
  master = s.shrink * master - s.step * (m / (std::sqrt(v) / s.root + s.eps));
}

void sgd_element(const SgdUpdate& args, std::int64_t i) {
  const SgdScalars s(args);
  float& master = args.master.data<float>()[i];
  const float g = args.grad.data<float>()[i] * s.grad_scale + s.decay * master;
  float direction = g;
  if (args.velocity.defined()) {
    float& velocity = args.velocity.data<float>()[i];
    velocity = s.momentum * velocity + g;
    direction = args.nesterov ? g + s.momentum * velocity : velocity;
  }
  master -= s.lr * direction;
}

}  // namespace

void adam_update(const AdamUpdate& args, Stream& stream) {
  check(args);
  if (args.master.is_meta()) return;
  stream.submit([args] {
    for (std::int64_t i = 0; i < args.master.numel(); ++i) {
      adam_element(args, i);
    }
    publish(args.master, args.published);
  });
}

void sgd_update(const SgdUpdate& args, Stream& stream) {
  check(args);
  if (args.master.is_meta()) return;
  stream.submit([args] {
    for (std::int64_t i = 0; i < args.master.numel(); ++i) {
      sgd_element(args, i);
    }
    publish(args.master, args.published);
  });
}

}  // namespace quire::kernels::reference
