#include "quire/kernels/activation.h"

#include "quire/kernels/cpu/ranges.h"
#include "quire/kernels/cpu/vector_math.h"
#include "quire/kernels/detail/element_types.h"

namespace quire::kernels {
namespace {

// x/2 (1 + tanh(u)) = x logistic(2u).
struct GeluTanh {
  static constexpr float kSlope = 1.59576912f;  // 2 sqrt(2 / pi)
  static constexpr float kCubic = 0.044715f;

  static float value(float x) {
    const float u = kSlope * x * multiply_add(kCubic * x, x, 1.0f);
    return x * logistic(u).value;
  }
  static float derivative(float x) {
    const float u = kSlope * x * multiply_add(kCubic * x, x, 1.0f);
    const float du = kSlope * multiply_add(3.0f * kCubic * x, x, 1.0f);
    const Logistic s = logistic(u);
    return multiply_add(x * du * s.complement, s.value, s.value);
  }
};

struct GeluErf {
  static float value(float x) { return x * normal(x).below; }
  static float derivative(float x) {
    const Normal n = normal(x);
    return multiply_add(x, n.density, n.below);
  }
};

struct Relu {
  static float value(float x) { return x < 0.0f ? 0.0f : x; }
  static float derivative(float x) { return x > 0.0f ? 1.0f : 0.0f; }
};

template <class Fn>
void visit(Activation kind, Fn fn) {
  switch (kind) {
    case Activation::kGeluTanh:
      return fn(GeluTanh());
    case Activation::kGeluErf:
      return fn(GeluErf());
    case Activation::kRelu:
      return fn(Relu());
  }
}

template <class F, class T>
void forward(const T* x, T* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    y[i] = T(F::value(static_cast<float>(x[i])));
}

template <class F, class T>
void backward(const T* dy, const T* x, T* dx, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    dx[i] =
        T(static_cast<float>(dy[i]) * F::derivative(static_cast<float>(x[i])));
}

void run(const ActivationForward& args, ThreadPool& pool) {
  visit(args.kind, [&]<class F>(F) {
    visit_compute_type(args.x.dtype(), [&]<class T>(T) {
      const T* x = args.x.data<T>();
      T* y = args.y.data<T>();
      for_ranges(pool, args.x.numel(),
                 [=](std::int64_t begin, std::int64_t end) {
                   forward<F>(x + begin, y + begin, end - begin);
                 });
    });
  });
}

void run(const ActivationBackward& args, ThreadPool& pool) {
  visit(args.kind, [&]<class F>(F) {
    visit_compute_type(args.x.dtype(), [&]<class T>(T) {
      const T* dy = args.dy.data<T>();
      const T* x = args.x.data<T>();
      T* dx = args.dx.data<T>();
      for_ranges(pool, args.x.numel(),
                 [=](std::int64_t begin, std::int64_t end) {
                   backward<F>(dy + begin, x + begin, dx + begin, end - begin);
                 });
    });
  });
}

}  // namespace

void activation_forward(const ActivationForward& args, Stream& stream) {
  check(args);
  if (args.x.is_meta()) return;
  ThreadPool& pool = stream.pool();
  stream.submit([args, &pool] { run(args, pool); });
}

void activation_backward(const ActivationBackward& args, Stream& stream) {
  check(args);
  if (args.x.is_meta()) return;
  ThreadPool& pool = stream.pool();
  stream.submit([args, &pool] { run(args, pool); });
}

}  // namespace quire::kernels
