// Sums over a row in one order whatever the vector width: kLanes running sums,
// element i in sum i % kLanes, the sums added in order at the end.
#pragma once

#include <array>
#include <cstdint>

namespace quire::kernels {

inline constexpr std::int64_t kLanes = 16;
using Lanes = std::array<float, kLanes>;

inline float sum_of(const Lanes& lanes) {
  float sum = 0.0f;
  for (const float lane : lanes) sum += lane;
  return sum;
}

// The sum over i in [0, n) of term(i).
template <class Term>
float sum_terms(std::int64_t n, Term term) {
  Lanes lanes{};
  const std::int64_t whole = n / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    for (std::int64_t l = 0; l < kLanes; ++l)
      lanes[static_cast<std::size_t>(l)] += term(i + l);
  }
  for (std::int64_t i = whole; i < n; ++i)
    lanes[static_cast<std::size_t>(i - whole)] += term(i);
  return sum_of(lanes);
}

}  // namespace quire::kernels
