// Sine and cosine in a form that compilers turn into vector code, with the same
// bits for an angle wherever it stands.
#pragma once

#include <bit>
#include <cstdint>

#include "quire/kernels/cpu/vector_exp.h"

namespace quire::kernels {

struct Turn {
  float cosine;
  float sine;
};

// Within 2 ulp for |angle| < 2^31.
//   angle = n pi / 2 + r with |r| <= pi / 4, found in fp64; the series of r up
//   to r^9 / 9! and r^10 / 10!, whose remainders are below 2e-9.
inline Turn vector_turn(float angle) {
  constexpr double kTwoOverPi = 0.63661977236758134308;
  constexpr double kHalfPi = 1.57079632679489661923;
  constexpr double kRound = 0x1.8p52;  // adding it leaves n in the low bits
  const double shifted = angle * kTwoOverPi + kRound;
  const auto quarter =
      static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(shifted));
  const auto r = static_cast<float>(angle - (shifted - kRound) * kHalfPi);
  const float square = r * r;
  float s = 1.0f / 362880;
  s = multiply_add(s, square, -1.0f / 5040);
  s = multiply_add(s, square, 1.0f / 120);
  s = multiply_add(s, square, -1.0f / 6);
  s = multiply_add(s * square, r, r);
  float c = -1.0f / 3628800;
  c = multiply_add(c, square, 1.0f / 40320);
  c = multiply_add(c, square, -1.0f / 720);
  c = multiply_add(c, square, 1.0f / 24);
  c = multiply_add(c, square, -0.5f);
  c = multiply_add(c, square, 1.0f);
  const bool swapped = (quarter & 1u) != 0;
  const float cosine = swapped ? s : c;
  const float sine = swapped ? c : s;
  return {.cosine = ((quarter + 1) & 2u) != 0 ? -cosine : cosine,
          .sine = (quarter & 2u) != 0 ? -sine : sine};
}

}  // namespace quire::kernels
