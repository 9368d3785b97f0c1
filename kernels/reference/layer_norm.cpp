#include "quire/kernels/layer_norm.h"

#include <cmath>

#include "quire/kernels/reference/elements.h"

namespace quire::kernels::reference {
namespace {

void run_row(const LayerNormForward& args, std::int64_t m) {
  const std::int64_t width = args.x.dim(1);
  double sum = 0.0, squares = 0.0;
  for (std::int64_t c = 0; c < width; ++c) sum += load(args.x, m * width + c);
  const double mean = sum / static_cast<double>(width);
  for (std::int64_t c = 0; c < width; ++c) {
    const double off = load(args.x, m * width + c) - mean;
    squares += off * off;
  }
  const double rstd =
      1.0 / std::sqrt(squares / static_cast<double>(width) + args.eps);
  for (std::int64_t c = 0; c < width; ++c) {
    const double hat = (load(args.x, m * width + c) - mean) * rstd;
    store(args.y, m * width + c,
          static_cast<float>(hat * load(args.gamma, c) + load(args.beta, c)));
  }
  store(args.mean, m, static_cast<float>(mean));
  store(args.rstd, m, static_cast<float>(rstd));
}

double normalised(const LayerNormBackward& args, std::int64_t m,
                  std::int64_t c) {
  const double off = static_cast<double>(load(args.x, m * args.x.dim(1) + c)) -
                     load(args.mean, m);
  return off * load(args.rstd, m);
}

// dx = rstd (g - mean(g) - xhat mean(g xhat)), g = dy gamma.
void run_row(const LayerNormBackward& args, std::int64_t m) {
  const std::int64_t width = args.x.dim(1);
  double sum = 0.0, dot = 0.0;
  for (std::int64_t c = 0; c < width; ++c) {
    const double g =
        static_cast<double>(load(args.dy, m * width + c)) * load(args.gamma, c);
    sum += g;
    dot += g * normalised(args, m, c);
  }
  for (std::int64_t c = 0; c < width; ++c) {
    const double g =
        static_cast<double>(load(args.dy, m * width + c)) * load(args.gamma, c);
    const double rest =
        g - (sum + normalised(args, m, c) * dot) / static_cast<double>(width);
    store(args.dx, m * width + c,
          static_cast<float>(load(args.rstd, m) * rest));
  }
}

void run_column(const LayerNormBackward& args, std::int64_t c) {
  const std::int64_t width = args.x.dim(1);
  double dgamma = 0.0, dbeta = 0.0;
  for (std::int64_t m = 0; m < args.x.dim(0); ++m) {
    const double dy = load(args.dy, m * width + c);
    dgamma += dy * normalised(args, m, c);
    dbeta += dy;
  }
  if (args.dgamma.defined()) {
    const double before = args.accumulate_gamma ? load(args.dgamma, c) : 0.0f;
    store(args.dgamma, c, static_cast<float>(before + dgamma));
  }
  if (args.dbeta.defined()) {
    const double before = args.accumulate_beta ? load(args.dbeta, c) : 0.0f;
    store(args.dbeta, c, static_cast<float>(before + dbeta));
  }
}

}  // namespace

void layer_norm_forward(const LayerNormForward& args, Stream& stream) {
  check(args);
  if (args.x.is_meta()) return;
  stream.submit([args] {
    for (std::int64_t m = 0; m < args.x.dim(0); ++m) run_row(args, m);
  });
}

void layer_norm_backward(const LayerNormBackward& args, Stream& stream) {
  check(args);
  if (args.x.is_meta()) return;
  stream.submit([args] {
    for (std::int64_t c = 0; c < args.x.dim(1); ++c) run_column(args, c);
    for (std::int64_t m = 0; m < args.x.dim(0); ++m) run_row(args, m);
  });
}

}  // namespace quire::kernels::reference
