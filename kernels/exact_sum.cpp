#include "quire/kernels/exact_sum.h"

#include <bit>
#include <limits>
#include <type_traits>

#include "quire/kernels/detail/arguments.h"

namespace quire::kernels {
namespace {

constexpr std::uint64_t kLow32 = 0xffffffffu;
constexpr std::uint64_t kInfinity = std::uint64_t{0x7ff} << 52;

using Bits = std::array<std::uint32_t, 68>;  // a magnitude, in units of 2^-1074

// The place of the highest set bit, or -1.
int highest_bit(const Bits& bits) {
  for (int i = static_cast<int>(bits.size()) - 1; i >= 0; --i) {
    const std::uint32_t limb = bits[static_cast<std::size_t>(i)];
    if (limb != 0) return 32 * i + 31 - std::countl_zero(limb);
  }
  return -1;
}

bool bit_at(const Bits& bits, int place) {
  return (bits[static_cast<std::size_t>(place / 32)] >> (place % 32)) & 1u;
}

bool any_below(const Bits& bits, int place) {
  for (int i = 0; i < place / 32; ++i) {
    if (bits[static_cast<std::size_t>(i)] != 0) return true;
  }
  const std::uint32_t mask = (std::uint32_t{1} << (place % 32)) - 1;
  return (bits[static_cast<std::size_t>(place / 32)] & mask) != 0;
}

// The binary64 pattern of a magnitude. A significand m with its leading bit at
// place 52 and shifted up by s has the pattern (s << 52) + m, because the
// leading bit adds one to the exponent; below, m is the subnormal's pattern;
// and a carry out of rounding goes into the exponent, up to infinity.
std::uint64_t round_to_double(const Bits& bits) {
  const int top = highest_bit(bits);
  const int shift = top > 52 ? top - 52 : 0;
  std::uint64_t m = 0;
  for (int place = top; place >= shift; --place) {
    m = 2 * m + (bit_at(bits, place) ? 1 : 0);
  }
  std::uint64_t pattern = (static_cast<std::uint64_t>(shift) << 52) + m;
  if (shift > 0 && bit_at(bits, shift - 1) &&
      (any_below(bits, shift - 1) || (m & 1) != 0)) {
    ++pattern;
  }
  return pattern < kInfinity ? pattern : kInfinity;
}

}  // namespace

static_assert(std::is_trivially_copyable_v<ExactSum>);

void ExactSum::add(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const bool negative = (bits >> 63) != 0;
  const auto exponent = static_cast<int>((bits >> 52) & 0x7ff);
  std::uint64_t m = bits & ((std::uint64_t{1} << 52) - 1);
  if (exponent == 0x7ff) {
    ++(m != 0 ? nans_ : negative ? negative_infinities_ : positive_infinities_);
    return;
  }
  if (exponent != 0) m |= std::uint64_t{1} << 52;
  const int place = exponent != 0 ? exponent - 1 : 0;
  const int shift = place % 32;
  const std::uint64_t low = m << shift;
  const std::uint64_t high = shift != 0 ? m >> (64 - shift) : 0;
  std::int64_t* limb = limbs_.data() + place / 32;
  const std::int64_t sign = negative ? -1 : 1;
  limb[0] += sign * static_cast<std::int64_t>(low & kLow32);
  limb[1] += sign * static_cast<std::int64_t>(low >> 32);
  limb[2] += sign * static_cast<std::int64_t>(high);
}

void ExactSum::add(const ExactSum& other) {
  for (std::size_t i = 0; i < limbs_.size(); ++i) limbs_[i] += other.limbs_[i];
  nans_ += other.nans_;
  positive_infinities_ += other.positive_infinities_;
  negative_infinities_ += other.negative_infinities_;
}

// Leaves [0, 2^32) in every limb but the last, which keeps the sign.
void ExactSum::carry(Limbs& limbs) {
  for (std::size_t i = 0; i + 1 < limbs.size(); ++i) {
    limbs[i + 1] += limbs[i] >> 32;
    limbs[i] &= static_cast<std::int64_t>(kLow32);
  }
}

double ExactSum::value() const {
  if (nans_ > 0 || (positive_infinities_ > 0 && negative_infinities_ > 0)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double infinity = std::numeric_limits<double>::infinity();
  if (positive_infinities_ > 0) return infinity;
  if (negative_infinities_ > 0) return -infinity;
  Limbs limbs = limbs_;
  carry(limbs);
  const bool negative = limbs.back() < 0;
  if (negative) {
    for (std::int64_t& limb : limbs) limb = -limb;
    carry(limbs);
  }
  Bits bits;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    bits[i] = static_cast<std::uint32_t>(limbs[i]);
  }
  const std::uint64_t sign = negative ? std::uint64_t{1} << 63 : 0;
  return std::bit_cast<double>(sign | round_to_double(bits));
}

void check(const SumOfSquares& args) {
  require_one_device("sum_of_squares", {{"x", args.x}});
  if (args.x.dtype() != DType::kF32 || args.sum == nullptr) {
    refuse("sum_of_squares", "x fp32 and a sum to add to", {{"x", args.x}});
  }
}

}  // namespace quire::kernels
