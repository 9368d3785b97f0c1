#include "quire/kernels/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "quire/kernels/detail/element_types.h"

namespace quire::kernels::reference {
namespace {

std::vector<double> row_of(const Tensor& logits, std::int64_t row) {
  const std::int64_t width = logits.dim(1);
  std::vector<double> x(static_cast<std::size_t>(width));
  visit_compute_type(logits.dtype(), [&]<class T>(T) {
    for (std::int64_t j = 0; j < width; ++j) {
      x[static_cast<std::size_t>(j)] =
          static_cast<float>(logits.data<T>()[row * width + j]);
    }
  });
  return x;
}

double logsumexp(const std::vector<double>& x) {
  const double top = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double value : x) sum += std::exp(value - top);
  return top + std::log(sum);
}

double loss_of(const CrossEntropyForward& args, const std::vector<double>& x,
               std::int32_t label) {
  double mean = 0;
  for (double value : x) mean += value / static_cast<double>(x.size());
  const double smoothing = args.smoothing;
  return logsumexp(x) - (1 - smoothing) * x[static_cast<std::size_t>(label)] -
         smoothing * mean;
}

// The derivative of row `row`'s loss by each of its logits.
void differentiate(const CrossEntropyBackward& args, std::int64_t row) {
  const std::int64_t width = args.logits.dim(1);
  const std::int32_t label = args.labels.data<std::int32_t>()[row];
  const std::vector<double> x = row_of(args.logits, row);
  const double lse = args.lse.data<float>()[row];
  visit_compute_type(args.dlogits.dtype(), [&]<class T>(T) {
    for (std::int64_t j = 0; j < width; ++j) {
      double d = std::exp(x[static_cast<std::size_t>(j)] - lse) -
                 args.smoothing / static_cast<double>(width);
      if (j == label) d -= 1.0 - args.smoothing;
      if (label == args.ignore) d = 0;
      args.dlogits.data<T>()[row * width + j] =
          T(static_cast<float>(args.scale * d));
    }
  });
}

}  // namespace

double cross_entropy_forward(const CrossEntropyForward& args, Stream& stream) {
  check(args);
  if (args.logits.is_meta()) return 0;
  double sum = 0;
  stream.submit([&args, &sum] {
    check_labels(args.logits, args.labels, args.ignore);
    for (std::int64_t row = 0; row < args.logits.dim(0); ++row) {
      const std::vector<double> x = row_of(args.logits, row);
      const std::int32_t label = args.labels.data<std::int32_t>()[row];
      args.lse.data<float>()[row] = static_cast<float>(logsumexp(x));
      if (label != args.ignore) sum += loss_of(args, x, label);
    }
  });
  stream.synchronize();
  return sum;
}

void cross_entropy_backward(const CrossEntropyBackward& args, Stream& stream) {
  check(args);
  if (args.logits.is_meta()) return;
  stream.submit([args] {
    check_labels(args.logits, args.labels, args.ignore);
    for (std::int64_t row = 0; row < args.logits.dim(0); ++row) {
      differentiate(args, row);
    }
  });
}

}  // namespace quire::kernels::reference
