// Whole numbers divided so that nothing is left over.
#pragma once

#include <cstdint>

namespace quire {

// a / b, rounded up. REQUIRES: a >= 0, b >= 1.
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

// The least multiple of `multiple` that is not below a. REQUIRES: a >= 0,
// multiple >= 1, and that it fits 63 bits.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t multiple) {
  return divide_up(a, multiple) * multiple;
}

}  // namespace quire
