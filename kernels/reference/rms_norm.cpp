#include "quire/kernels/rms_norm.h"

#include <cmath>

#include "quire/kernels/reference/elements.h"

namespace quire::kernels::reference {
namespace {

// In x's type.
float rounded(const Tensor& x, double value) {
  const auto single = static_cast<float>(value);
  return x.dtype() == DType::kF32 ? single
                                  : static_cast<float>(BFloat16(single));
}

void run_row(const RmsNormForward& args, std::int64_t m) {
  const std::int64_t width = args.x.dim(1);
  double squares = 0.0;
  for (std::int64_t c = 0; c < width; ++c) {
    const double x = load(args.x, m * width + c);
    squares += x * x;
  }
  const double rstd =
      1.0 / std::sqrt(squares / static_cast<double>(width) + args.eps);
  for (std::int64_t c = 0; c < width; ++c) {
    const float hat = rounded(args.x, load(args.x, m * width + c) * rstd);
    store(args.y, m * width + c, hat * load(args.gamma, c));
  }
  store(args.rstd, m, static_cast<float>(rstd));
}

double normalised(const RmsNormBackward& args, std::int64_t m, std::int64_t c) {
  const double x = load(args.x, m * args.x.dim(1) + c);
  return x * load(args.rstd, m);
}

double slope(const RmsNormBackward& args, std::int64_t m, std::int64_t c) {
  return load(args.dy, m * args.x.dim(1) + c);
}

// dx = rstd (g - xhat mean(g xhat)), g = dy gamma.
void run_row(const RmsNormBackward& args, std::int64_t m) {
  const std::int64_t width = args.x.dim(1);
  double dot = 0.0;
  for (std::int64_t c = 0; c < width; ++c)
    dot += slope(args, m, c) * load(args.gamma, c) * normalised(args, m, c);
  const double mean = dot / static_cast<double>(width);
  for (std::int64_t c = 0; c < width; ++c) {
    const double rest =
        slope(args, m, c) * load(args.gamma, c) - normalised(args, m, c) * mean;
    store(args.dx, m * width + c,
          static_cast<float>(load(args.rstd, m) * rest));
  }
}

void run_column(const RmsNormBackward& args, std::int64_t c) {
  double sum = args.accumulate_gamma ? load(args.dgamma, c) : 0.0;
  for (std::int64_t m = 0; m < args.x.dim(0); ++m)
    sum += slope(args, m, c) * normalised(args, m, c);
  store(args.dgamma, c, static_cast<float>(sum));
}

}  // namespace

void rms_norm_forward(const RmsNormForward& args, Stream& stream) {
  check(args);
  if (args.x.is_meta()) return;
  stream.submit([args] {
    for (std::int64_t m = 0; m < args.x.dim(0); ++m) run_row(args, m);
  });
}

void rms_norm_backward(const RmsNormBackward& args, Stream& stream) {
  check(args);
  if (args.x.is_meta()) return;
  stream.submit([args] {
    const std::int64_t columns = args.dgamma.defined() ? args.x.dim(1) : 0;
    for (std::int64_t c = 0; c < columns; ++c) run_column(args, c);
    for (std::int64_t m = 0; m < args.x.dim(0); ++m) run_row(args, m);
  });
}

}  // namespace quire::kernels::reference
