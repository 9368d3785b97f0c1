#include "quire/core/detail/block_cache.h"

#include <sys/mman.h>

#include <cstdlib>
#include <limits>
#include <new>

#include "quire/core/divide.h"

namespace quire {
namespace {

constexpr std::int64_t kPageBytes = 4096;
constexpr std::int64_t kAlignment = 64;

// A mapping that starts on a huge page: one huge page too many is mapped, and
// what lies outside goes back.
Block map_block(std::int64_t bytes) {
  if (bytes > std::numeric_limits<std::int64_t>::max() - 2 * kHugePageBytes)
    return {};
  const std::int64_t capacity = round_up(bytes, kPageBytes);
  const auto mapped = static_cast<std::size_t>(capacity + kHugePageBytes);
  void* start = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return {};
  auto* first = static_cast<std::byte*>(start);
  const auto address =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(start));
  const std::int64_t head = round_up(address, kHugePageBytes) - address;
  const std::int64_t tail = kHugePageBytes - head;
  if (head > 0) munmap(first, static_cast<std::size_t>(head));
  if (tail > 0) munmap(first + head + capacity, static_cast<std::size_t>(tail));
  madvise(first + head, static_cast<std::size_t>(capacity),
          MADV_HUGEPAGE);  // a wish
  return {first + head, capacity};
}

Block system_block(std::int64_t bytes) {
  if (bytes >= kHugePageBytes) return map_block(bytes);
  return {static_cast<std::byte*>(
              std::aligned_alloc(kAlignment, static_cast<std::size_t>(bytes))),
          bytes};
}

void return_to_system(Block block) noexcept {
  if (block.capacity >= kHugePageBytes) {
    munmap(block.data, static_cast<std::size_t>(block.capacity));
  } else {
    std::free(block.data);
  }
}

}  // namespace

Block BlockCache::take(std::int64_t bytes) {
  const auto found = kept_.lower_bound(bytes);
  if (found != kept_.end() && found->first - bytes <= bytes / 4 + kPageBytes) {
    const Block block{found->second, found->first};
    kept_.erase(found);
    return block;
  }
  Block block = system_block(bytes);
  if (block.data == nullptr) {
    trim();
    block = system_block(bytes);
  }
  if (block.data == nullptr) throw std::bad_alloc();
  ++system_allocations_;
  return block;
}

void BlockCache::give(Block block) noexcept {
  try {
    kept_.emplace(block.capacity, block.data);
  } catch (const std::bad_alloc&) {
    return_to_system(block);
  }
}

void BlockCache::trim() noexcept {
  for (const auto& [capacity, data] : kept_) return_to_system({data, capacity});
  kept_.clear();
}

}  // namespace quire
