#include "quire/kernels/exact_sum.h"

#include <algorithm>

#include "quire/core/divide.h"
#include "quire/kernels/cpu/ranges.h"

namespace quire::kernels {
namespace {

constexpr std::int64_t kPanel = std::int64_t{1} << 16;
static_assert(kPanel % kTile == 0);

// The squares of one whole tile.
double sum_tile(const float* x) {
  constexpr int kLanes = 16;
  double lanes[kLanes] = {};
  for (std::int64_t i = 0; i < kTile; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) {
      const double value = x[i + j];
      lanes[j] += value * value;
    }
  }
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  }
  return lanes[0];
}

ExactSum sum_range(const float* x, std::int64_t n) {
  ExactSum sum;
  const std::int64_t whole = n / kTile * kTile;
  for (std::int64_t i = 0; i < whole; i += kTile) sum.add(sum_tile(x + i));
  if (whole < n) {
    float padded[kTile] = {};
    std::copy(x + whole, x + n, padded);
    sum.add(sum_tile(padded));
  }
  return sum;
}

}  // namespace

void sum_of_squares(const SumOfSquares& args, Stream& stream) {
  check(args);
  const std::int64_t panels = divide_up(args.x.numel(), kPanel);
  const Tensor scratch = stream.scratch().allocate(
      DType::kU8, {panels * static_cast<std::int64_t>(sizeof(ExactSum))},
      Category::kWorkspace);
  if (args.x.is_meta()) return;
  stream.submit([args, scratch, panels, &pool = stream.pool()] {
    auto* sums = reinterpret_cast<ExactSum*>(scratch.raw());
    for_ranges(pool, args.x.numel(), kPanel,
               [&](std::int64_t begin, std::int64_t end) {
                 new (sums + begin / kPanel) ExactSum(
                     sum_range(args.x.data<float>() + begin, end - begin));
               });
    for (std::int64_t i = 0; i < panels; ++i) args.sum->add(sums[i]);
  });
}

}  // namespace quire::kernels
