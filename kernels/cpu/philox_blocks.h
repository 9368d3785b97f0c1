// Philox blocks many at a time, in a form that compilers turn into vector
// code.
#pragma once

#include <array>
#include <cstdint>

#include "quire/core/philox.h"

namespace quire::kernels {

inline constexpr int kQuads = 64;  // blocks of one call
using QuadWords = std::array<std::uint32_t, 4 * kQuads>;

// words[4 i + k] = word k of key.block(quad + i).
inline void philox_blocks(const RandomKey& key, std::uint64_t quad,
                          QuadWords& words) {
  std::uint32_t c0[kQuads], c1[kQuads], c2[kQuads], c3[kQuads];
  for (int i = 0; i < kQuads; ++i) {
    const std::uint64_t q = quad + static_cast<std::uint64_t>(i);
    c0[i] = static_cast<std::uint32_t>(q);
    c1[i] = static_cast<std::uint32_t>(q >> 32);
    c2[i] = key.lane;
    c3[i] = key.step;
  }
  auto k0 = static_cast<std::uint32_t>(key.key);
  auto k1 = static_cast<std::uint32_t>(key.key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kQuads; ++i) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0[i];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c2[i];
      c0[i] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<std::uint32_t>(p1);
      c2[i] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int i = 0; i < kQuads; ++i) {
    words[static_cast<std::size_t>(4 * i)] = c0[i];
    words[static_cast<std::size_t>(4 * i + 1)] = c1[i];
    words[static_cast<std::size_t>(4 * i + 2)] = c2[i];
    words[static_cast<std::size_t>(4 * i + 3)] = c3[i];
  }
}

}  // namespace quire::kernels
