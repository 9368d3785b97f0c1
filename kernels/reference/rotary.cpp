#include "quire/kernels/rotary.h"

#include <cmath>

#include "quire/kernels/reference/elements.h"

namespace quire::kernels::reference {
namespace {

void turn(const Rotary& args, std::int64_t low, double angle) {
  const std::int64_t high = low + std::ssize(args.frequencies);
  const double a = load(args.x, low), b = load(args.x, high);
  store(args.y, low,
        static_cast<float>(a * std::cos(angle) - b * std::sin(angle)));
  store(args.y, high,
        static_cast<float>(b * std::cos(angle) + a * std::sin(angle)));
}

// All heads of token row `row`.
void run_row(const Rotary& args, std::int64_t row) {
  const auto half = std::ssize(args.frequencies);
  const std::int64_t width = args.x.dim(2);
  const auto t = static_cast<float>(row % args.x.dim(1));
  const double sign =
      args.direction == Rotary::Direction::kForward ? 1.0 : -1.0;
  for (std::int64_t head = row * width; head < (row + 1) * width;
       head += 2 * half) {
    for (std::int64_t i = 0; i < half; ++i)
      turn(args, head + i,
           sign * (t * args.frequencies[static_cast<std::size_t>(i)]));
  }
}

}  // namespace

void rotary(const Rotary& args, Stream& stream) {
  check(args);
  if (args.x.is_meta()) return;
  stream.submit([args] {
    const std::int64_t rows = args.x.dim(0) * args.x.dim(1);
    for (std::int64_t row = 0; row < rows; ++row) run_row(args, row);
  });
}

}  // namespace quire::kernels::reference
