#include "quire/kernels/optimizer_update.h"

#include <cmath>

#include "quire/kernels/cpu/ranges.h"
#include "quire/kernels/detail/element_types.h"
#include "quire/kernels/detail/update_scalars.h"

// This file is compiled without contraction of products and sums, so that an
// element has the same bits in a vector, in a loop's tail and in any shard.

namespace quire::kernels {
namespace {

// Elements that are stepped and then published while they are in the first
// level of cache.
constexpr std::int64_t kChunk = 1024;

void adam(const AdamUpdate& args, std::int64_t begin, std::int64_t end) {
  const AdamScalars s(args);
  const float* grad = args.grad.data<float>();
  float* master = args.master.data<float>();
  float* m = args.m.data<float>();
  float* v = args.v.data<float>();
#pragma GCC ivdep
  for (std::int64_t i = begin; i < end; ++i) {
    const float g = grad[i] * s.grad_scale + s.l2 * master[i];
    const float mean = m[i] + (g - m[i]) * s.rest1;
    const float square = s.beta2 * v[i] + s.rest2 * (g * g);
    m[i] = mean;
    v[i] = square;
    master[i] = s.shrink * master[i] -
                s.step * (mean / (std::sqrt(square) / s.root + s.eps));
  }
}

void sgd_plain(const SgdUpdate& args, std::int64_t begin, std::int64_t end) {
  const SgdScalars s(args);
  const float* grad = args.grad.data<float>();
  float* master = args.master.data<float>();
#pragma GCC ivdep
  for (std::int64_t i = begin; i < end; ++i) {
    const float g = grad[i] * s.grad_scale + s.decay * master[i];
    master[i] -= s.lr * g;
  }
}

template <bool kNesterov>
void sgd_momentum(const SgdUpdate& args, std::int64_t begin, std::int64_t end) {
  const SgdScalars s(args);
  const float* grad = args.grad.data<float>();
  float* master = args.master.data<float>();
  float* velocity = args.velocity.data<float>();
#pragma GCC ivdep
  for (std::int64_t i = begin; i < end; ++i) {
    const float g = grad[i] * s.grad_scale + s.decay * master[i];
    const float speed = s.momentum * velocity[i] + g;
    velocity[i] = speed;
    master[i] -= s.lr * (kNesterov ? g + s.momentum * speed : speed);
  }
}

void sgd(const SgdUpdate& args, std::int64_t begin, std::int64_t end) {
  if (!args.velocity.defined()) {
    sgd_plain(args, begin, end);
  } else if (args.nesterov) {
    sgd_momentum<true>(args, begin, end);
  } else {
    sgd_momentum<false>(args, begin, end);
  }
}

template <class T>
void publish(const float* master, T* published, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) published[i] = T(master[i]);
}

// Runs `step` over all elements and publishes what it wrote.
template <class Args, class Step>
void update(const Args& args, ThreadPool& pool, Step step) {
  const float* master = args.master.template data<float>();
  visit_float_type(args.published.dtype(), [&]<class T>(T) {
    T* published = args.published.template data<T>();
    const bool apart = static_cast<void*>(published) != master;
    for_ranges(pool, args.master.numel(),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; i += kChunk) {
                   const std::int64_t n = std::min(kChunk, end - i);
                   step(args, i, i + n);
                   if (apart) publish(master + i, published + i, n);
                 }
               });
  });
}

}  // namespace

void adam_update(const AdamUpdate& args, Stream& stream) {
  check(args);
  if (args.master.is_meta()) return;
  stream.submit([args, &pool = stream.pool()] { update(args, pool, adam); });
}

void sgd_update(const SgdUpdate& args, Stream& stream) {
  check(args);
  if (args.master.is_meta()) return;
  stream.submit([args, &pool = stream.pool()] { update(args, pool, sgd); });
}

}  // namespace quire::kernels
