// Counter-based random numbers: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011). A value is a
// function of (key, counter) alone: no state, no order, any element by itself.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace quire {

// The four words of one block.
constexpr std::array<std::uint32_t, 4> philox(
    std::uint64_t key, std::array<std::uint32_t, 4> counter) {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0,
               static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1,
               static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return counter;
}

// [0, 1) with 24 bits.
constexpr float uniform(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24f;
}

// What names one random tensor of a step: element e takes word e % 4 of block
// {e / 4 (64 bits), lane, step}.
struct RandomKey {
  std::uint64_t key = 0;  // random_key of seed, layer path, operation's index
  std::uint32_t lane = 0;
  std::uint32_t step = 0;

  constexpr std::array<std::uint32_t, 4> block(std::uint64_t quad) const {
    return philox(key, {static_cast<std::uint32_t>(quad),
                        static_cast<std::uint32_t>(quad >> 32), lane, step});
  }
};

// The key of (seed, path, index): XXH3-64 over seed and index as little-endian
// 64-bit words, then the path's bytes.
std::uint64_t random_key(std::uint64_t seed, std::string_view path,
                         std::uint64_t index);

}  // namespace quire
