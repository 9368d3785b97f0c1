// exp in a form that compilers turn into vector code, with the same bits for an
// element wherever it stands.
#pragma once

#include <bit>
#include <cstdint>

namespace quire::kernels {

// a b + c: rounded once on processors that can, twice elsewhere; the compiler
// has no choice.
inline float multiply_add(float a, float b, float c) {
#ifdef __FP_FAST_FMAF
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

// e^x within 2 ulp for x <= 88; 0 below -87.3, where results get subnormal;
// infinity above 88.4. NaN stays NaN.
//   x = n ln 2 + r with |r| <= ln 2 / 2; e^r by its series up to r^7 / 7!,
//   whose remainder is below 6e-9.
inline float vector_exp(float x) {
  constexpr float kLog2e = 1.44269504088896341f;
  constexpr float kLn2High = 0x1.62e4p-1f;  // 15 bits: n times it is exact
  constexpr float kLn2Low = 0x1.7f7d1cp-20f;
  constexpr float kRound = 0x1.8p23f;  // adding it leaves n in the low bits
  const float bounded = x > 89.0f ? 89.0f : x;
  const float shifted = multiply_add(bounded, kLog2e, kRound);
  const float n = shifted - kRound;
  const float r =
      multiply_add(n, -kLn2Low, multiply_add(n, -kLn2High, bounded));
  float p = 1.0f / 5040;
  p = multiply_add(p, r, 1.0f / 720);
  p = multiply_add(p, r, 1.0f / 120);
  p = multiply_add(p, r, 1.0f / 24);
  p = multiply_add(p, r, 1.0f / 6);
  p = multiply_add(p, r, 0.5f);
  p = multiply_add(p, r, 1.0f);
  p = multiply_add(p, r, 1.0f);
  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(shifted) + 127u;
  const float power = std::bit_cast<float>(exponent << 23);
  return x < -87.3f ? 0.0f : p * power;
}

}  // namespace quire::kernels
