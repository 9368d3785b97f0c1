#include "quire/kernels/exact_sum.h"

#include <algorithm>

namespace quire::kernels::reference {
namespace {

double sum_tile(const float* x, std::int64_t n) {
  double lanes[16] = {};
  for (std::int64_t i = 0; i < n; ++i) {
    const double value = x[i];
    lanes[i % 16] += value * value;
  }
  for (int width = 8; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  }
  return lanes[0];
}

}  // namespace

void sum_of_squares(const SumOfSquares& args, Stream& stream) {
  check(args);
  if (args.x.is_meta()) return;
  stream.submit([args] {
    const std::int64_t n = args.x.numel();
    for (std::int64_t begin = 0; begin < n; begin += kTile) {
      args.sum->add(
          sum_tile(args.x.data<float>() + begin, std::min(kTile, n - begin)));
    }
  });
}

}  // namespace quire::kernels::reference
