// The machine's multiply-add peak in fp32, measured: what a percentage of peak
// is a percentage of.
#pragma once

namespace quire::bench {

// FLOP/s (a multiply-add counts two) that `threads` threads reach together with
// independent fused multiply-adds on registers, over about `seconds`.
double multiply_add_peak(int threads, double seconds);

}  // namespace quire::bench
