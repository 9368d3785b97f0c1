// A sum of doubles that is exact, and so the same in any order: fixed-point
// limbs over the whole range of binary64 (a long accumulator: Kulisch,
// "Computer Arithmetic and Validity", 2008). NaN and infinities are counted
// apart.
#pragma once

#include <array>
#include <cstdint>

#include "quire/core/stream.h"
#include "quire/core/tensor.h"
#include "quire/core/tile.h"

namespace quire::kernels {

// Trivially copyable: it travels between ranks as bytes. Exact for up to 2^30
// additions of doubles, merged ones included.
class ExactSum {
 public:
  void add(double value);
  void add(const ExactSum& other);
  // The exact sum rounded to nearest even; NaN if a NaN, or infinities of both
  // signs, were added; else the infinity.
  double value() const;
  bool finite() const {
    return nans_ == 0 && positive_infinities_ == 0 && negative_infinities_ == 0;
  }

 private:
  // Limbs of 32 bits from 2^-1074 up, kept in 64 so that carries can wait.
  static constexpr int kLimbs = 68;
  using Limbs = std::array<std::int64_t, kLimbs>;

  static void carry(Limbs& limbs);

  Limbs limbs_{};
  std::int64_t nans_ = 0;
  std::int64_t positive_infinities_ = 0;
  std::int64_t negative_infinities_ = 0;
};

// Adds to `sum` one fp64 partial for every tile of x (the last may be short, as
// if padded with zeros): sixteen lanes, lane j adding the squares of elements
// j, j + 16, ... in order; then lane j adds lane j + 8, j + 4, j + 2, j + 1.
// `sum` is written when the stream gets there and must live until then.
struct SumOfSquares {
  Tensor x;  // [n] fp32
  ExactSum* sum;
};
void sum_of_squares(const SumOfSquares& args, Stream& stream);

// Every implementation begins with it: UsageError naming the kernel and what it
// got unless the arguments are as above.
void check(const SumOfSquares& args);

namespace reference {
void sum_of_squares(const SumOfSquares& args, Stream& stream);
}  // namespace reference

}  // namespace quire::kernels
