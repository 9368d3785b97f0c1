#include "quire/kernels/swiglu.h"

#include <cmath>

#include "quire/kernels/reference/elements.h"

namespace quire::kernels::reference {
namespace {

double logistic(double x) { return 1.0 / (1.0 + std::exp(-x)); }

void run_element(const SwigluForward& args, std::int64_t i) {
  const double gate = load(args.gate, i);
  store(args.y, i,
        static_cast<float>(gate * logistic(gate) * load(args.up, i)));
}

void run_element(const SwigluBackward& args, std::int64_t i) {
  const double gate = load(args.gate, i), up = load(args.up, i);
  const double dy = load(args.dy, i), s = logistic(gate);
  store(args.dgate, i,
        static_cast<float>(dy * up * s * (1.0 + gate * logistic(-gate))));
  store(args.dup, i, static_cast<float>(dy * gate * s));
}

}  // namespace

void swiglu_forward(const SwigluForward& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  stream.submit([args] {
    for (std::int64_t i = 0; i < args.y.numel(); ++i) run_element(args, i);
  });
}

void swiglu_backward(const SwigluBackward& args, Stream& stream) {
  check(args);
  if (args.dy.is_meta()) return;
  stream.submit([args] {
    for (std::int64_t i = 0; i < args.dy.numel(); ++i) run_element(args, i);
  });
}

}  // namespace quire::kernels::reference
