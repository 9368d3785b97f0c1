#include "quire/data/permutation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "quire/core/error.h"
#include "quire/core/philox.h"

namespace quire::data {
namespace {

constexpr int kRounds = 8;
// Below this the few permutations that so short a network has would show.
constexpr int kMinHalfBits = 3;

}  // namespace

Permutation::Permutation(std::int64_t size, std::uint64_t key)
    : size_(size), key_(key) {
  if (size < 1 || size > (std::int64_t{1} << 62)) {
    throw UsageError(
        fmt::format("a permutation of {} elements; expected 1 to 2^62", size));
  }
  const int bits = std::bit_width(static_cast<std::uint64_t>(size - 1));
  half_bits_ = std::max(kMinHalfBits, (bits + 1) / 2);
}

std::uint64_t Permutation::encipher(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const auto block =
        philox(key_, {static_cast<std::uint32_t>(right), round, 0, 0});
    const std::uint64_t next = left ^ (block[0] & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

std::int64_t Permutation::operator()(std::int64_t i) const {
  if (i < 0 || i >= size_) {
    throw UsageError(
        fmt::format("element {} of a permutation of {}", i, size_));
  }
  auto value = static_cast<std::uint64_t>(i);
  do {
    value = encipher(value);
  } while (value >= static_cast<std::uint64_t>(size_));
  return static_cast<std::int64_t>(value);
}

}  // namespace quire::data
