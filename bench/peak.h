// What the machine can do, measured: what a percentage is a percentage of.
#pragma once

#include <cstdint>

namespace quire::bench {

// FLOP/s (a multiply-add counts two) that `threads` threads reach together with
// independent fused multiply-adds on registers, over about `seconds`.
double multiply_add_peak(int threads, double seconds);

// y = a + b by one thread, a plain loop: 12 bytes of memory an element if they
// exceed the caches.
void add_arrays(const float* a, const float* b, float* y, std::int64_t n);

}  // namespace quire::bench
