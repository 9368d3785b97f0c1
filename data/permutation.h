// A pseudo-random permutation of [0, size) that is computed element by element:
// nothing of the order is stored, whatever the size.
#pragma once

#include <cstdint>

namespace quire::data {

// A function of (size, key) alone. A Feistel network over the next even number
// of bits, its rounds Philox blocks, is a bijection of a range that is at most
// four times too large (64 at least); walking along its cycle until a value
// lies below `size` keeps it one (Black and Rogaway, "Ciphers with arbitrary
// finite domains", 2002). A call takes four walks on average at most, and for
// sizes below 16 at most 64.
class Permutation {
 public:
  // REQUIRES: 1 <= size <= 2^62; else UsageError.
  Permutation(std::int64_t size, std::uint64_t key);

  std::int64_t size() const { return size_; }
  // REQUIRES: 0 <= i < size(); else UsageError.
  std::int64_t operator()(std::int64_t i) const;

 private:
  std::uint64_t encipher(std::uint64_t value) const;

  std::int64_t size_;
  std::uint64_t key_;
  int half_bits_;
};

}  // namespace quire::data
