#include "quire/kernels/rotary.h"

#include <algorithm>

#include "quire/kernels/cpu/ranges.h"
#include "quire/kernels/cpu/rows.h"
#include "quire/kernels/cpu/vector_turn.h"
#include "quire/kernels/detail/element_types.h"

namespace quire::kernels {
namespace {

// Token rows of one panel.
constexpr std::int64_t kRows = 16;
// Pairs that are turned at a time, from copies in fp32: y may be x, and loops
// over copies are vector code all the same.
constexpr std::int64_t kPairs = 64;

// Sines and cosines of `count` pairs of one token.
struct Turns {
  std::int64_t count;
  float cosines[kPairs];
  float sines[kPairs];
};

Turns turns_of(const Rotary& args, float t, std::int64_t first) {
  const std::int64_t count =
      std::min(kPairs, std::ssize(args.frequencies) - first);
  const float sign =
      args.direction == Rotary::Direction::kForward ? 1.0f : -1.0f;
  const float* frequencies = args.frequencies.data() + first;
  Turns turns;
  turns.count = count;
  for (std::int64_t i = 0; i < count; ++i) {
    const Turn turn = vector_turn(t * frequencies[i]);
    turns.cosines[i] = turn.cosine;
    turns.sines[i] = sign * turn.sine;
  }
  return turns;
}

// The pairs (x[i], x[i + half]).
template <class T>
void turn_pairs(const Turns& turns, const T* x, T* y, std::int64_t half) {
  float low[kPairs], high[kPairs];
  widen(x, low, turns.count);
  widen(x + half, high, turns.count);
  for (std::int64_t i = 0; i < turns.count; ++i) {
    const float a = low[i], b = high[i];
    low[i] = multiply_add(a, turns.cosines[i], -(b * turns.sines[i]));
    high[i] = multiply_add(b, turns.cosines[i], a * turns.sines[i]);
  }
  narrow(low, y, turns.count);
  narrow(high, y + half, turns.count);
}

template <class T>
void turn_row(const Rotary& args, std::int64_t row) {
  const auto half = std::ssize(args.frequencies);
  const std::int64_t width = args.x.dim(2);
  const T* x = args.x.data<T>() + row * width;
  T* y = args.y.data<T>() + row * width;
  const auto t = static_cast<float>(row % args.x.dim(1));
  for (std::int64_t first = 0; first < half; first += kPairs) {
    const Turns turns = turns_of(args, t, first);
    for (std::int64_t at = first; at < width; at += 2 * half)
      turn_pairs(turns, x + at, y + at, half);
  }
}

}  // namespace

void rotary(const Rotary& args, Stream& stream) {
  check(args);
  if (args.x.is_meta()) return;
  ThreadPool& pool = stream.pool();
  stream.submit([args, &pool] {
    visit_compute_type(args.x.dtype(), [&]<class T>(T) {
      for_ranges(pool, args.x.dim(0) * args.x.dim(1), kRows,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row)
                     turn_row<T>(args, row);
                 });
    });
  });
}

}  // namespace quire::kernels
