// Initial values from random words: the one definition that every
// implementation of fill_random uses, so that an element has the same bits
// everywhere.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "quire/kernels/elementwise.h"

namespace quire::kernels {

// Box and Muller's two normal values of two words; the first word's uniform is
// taken from (0, 1] so that its logarithm is finite.
inline std::array<float, 2> normal_pair(std::uint32_t w0, std::uint32_t w1) {
  const float radius = std::sqrt(-2.0f * std::log(1.0f - uniform(w0)));
  const float angle = 6.28318530717958647692f * uniform(w1);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

// The values of elements 4 quad ... 4 quad + 3 from the words of their block.
inline std::array<float, 4> random_values(
    const FillRandom& args, const std::array<std::uint32_t, 4>& words) {
  if (args.kind == FillRandom::Kind::kUniform) {
    const float width = args.b - args.a;
    std::array<float, 4> values;
    for (std::size_t i = 0; i < 4; ++i) {
      values[i] = std::fma(width, uniform(words[i]), args.a);
    }
    return values;
  }
  const auto [z0, z1] = normal_pair(words[0], words[1]);
  const auto [z2, z3] = normal_pair(words[2], words[3]);
  return {std::fma(args.b, z0, args.a), std::fma(args.b, z1, args.a),
          std::fma(args.b, z2, args.a), std::fma(args.b, z3, args.a)};
}

}  // namespace quire::kernels
