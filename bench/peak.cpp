#include "bench/peak.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace quire::bench {
namespace {

using Clock = std::chrono::steady_clock;

#if defined(__AVX512F__)
constexpr int kBytes = 64;
#else
constexpr int kBytes = 32;
#endif
using Vector [[gnu::vector_size(kBytes)]] = float;
// More than latency times units: every unit is busy.
constexpr int kChains = 12;
constexpr std::int64_t kRounds = 1 << 16;

// 2 * kChains * lanes * kRounds FLOP.
float burst(float seed) {
  Vector sums[kChains];
#pragma GCC unroll kChains
  for (int c = 0; c < kChains; ++c)
    sums[c] = Vector{} + seed + static_cast<float>(c);
  const Vector a = Vector{} + 0.999f;
  const Vector b = Vector{} + 0.001f;
  for (std::int64_t i = 0; i < kRounds; ++i) {
#pragma GCC unroll kChains
    for (int c = 0; c < kChains; ++c) {
      sums[c] = sums[c] * a + b;
      asm volatile("" : "+v"(sums[c]));  // stays in its register, is not folded
    }
  }
  Vector total = sums[0];
#pragma GCC unroll kChains
  for (int c = 1; c < kChains; ++c) total += sums[c];
  return total[0];
}

constexpr double kBurstFlops =
    2.0 * kChains * (kBytes / sizeof(float)) * kRounds;

}  // namespace

double multiply_add_peak(int threads, double seconds) {
  std::atomic<std::int64_t> bursts{0};
  std::atomic<float> sink{0.0f};
  const auto start = Clock::now();
  const auto end = start + std::chrono::duration<double>(seconds);
  std::vector<std::jthread> pool;
  for (int t = 0; t < threads; ++t) {
    pool.emplace_back([&, t] {
      while (Clock::now() < end) {
        sink = burst(static_cast<float>(t));
        ++bursts;
      }
    });
  }
  pool.clear();
  const std::chrono::duration<double> taken = Clock::now() - start;
  return static_cast<double>(bursts) * kBurstFlops / taken.count();
}

void add_arrays(const float* a, const float* b, float* y, std::int64_t n) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

}  // namespace quire::bench
