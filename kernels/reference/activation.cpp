#include "quire/kernels/activation.h"

#include <cmath>
#include <numbers>

#include "quire/kernels/reference/elements.h"

namespace quire::kernels::reference {
namespace {

constexpr double kCubic = 0.044715;
const double kSlope = std::sqrt(2.0 / std::numbers::pi);

double value(Activation kind, double x) {
  switch (kind) {
    case Activation::kGeluTanh:
      return 0.5 * x * (1.0 + std::tanh(kSlope * (x + kCubic * x * x * x)));
    case Activation::kGeluErf:
      return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2));
    case Activation::kRelu:
      return x < 0.0 ? 0.0 : x;
  }
  return 0.0;
}

double derivative(Activation kind, double x) {
  switch (kind) {
    case Activation::kGeluTanh: {
      const double t = std::tanh(kSlope * (x + kCubic * x * x * x));
      const double inner = kSlope * (1.0 + 3.0 * kCubic * x * x);
      return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * inner;
    }
    case Activation::kGeluErf: {
      const double density =
          std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
      return 0.5 * (1.0 + std::erf(x / std::numbers::sqrt2)) + x * density;
    }
    case Activation::kRelu:
      return x > 0.0 ? 1.0 : 0.0;
  }
  return 0.0;
}

}  // namespace

void activation_forward(const ActivationForward& args, Stream& stream) {
  check(args);
  if (args.x.is_meta()) return;
  stream.submit([args] {
    for (std::int64_t i = 0; i < args.x.numel(); ++i)
      store(args.y, i, static_cast<float>(value(args.kind, load(args.x, i))));
  });
}

void activation_backward(const ActivationBackward& args, Stream& stream) {
  check(args);
  if (args.x.is_meta()) return;
  stream.submit([args] {
    for (std::int64_t i = 0; i < args.x.numel(); ++i)
      store(args.dx, i,
            static_cast<float>(load(args.dy, i) *
                               derivative(args.kind, load(args.x, i))));
  });
}

}  // namespace quire::kernels::reference
