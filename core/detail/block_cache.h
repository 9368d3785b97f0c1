// Blocks of memory from the system, kept when given back so that a steady step
// asks for none. Not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace quire {

struct Block {
  std::byte* data = nullptr;
  // Bytes; from kHugePageBytes on, a mapping on a huge page's boundary.
  std::int64_t capacity = 0;
};

inline constexpr std::int64_t kHugePageBytes = std::int64_t{1} << 21;

class BlockCache {
 public:
  BlockCache() = default;
  ~BlockCache() { trim(); }
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // The smallest kept block that holds `bytes` and wastes little, else a new
  // one. Throws std::bad_alloc. REQUIRES: bytes > 0, a multiple of 64.
  Block take(std::int64_t bytes);
  void give(Block block) noexcept;
  // Returns kept blocks to the system.
  void trim() noexcept;

  std::int64_t system_allocations() const { return system_allocations_; }

 private:
  std::multimap<std::int64_t, std::byte*> kept_;  // by capacity
  std::int64_t system_allocations_ = 0;
};

}  // namespace quire
