// The ids of pieces that were seen lately. Text repeats its words, and looking
// one up takes a fraction of merging it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace quire::data {

// Two MiB, whatever the text: a piece has one place, where it takes that of
// another. Used by one thread.
class PieceCache {
 public:
  PieceCache() : slots_(kSlots) {}

  // Appends the piece's ids, unless it is not here. REQUIRES: not empty.
  bool append(std::string_view piece, std::vector<std::int32_t>& ids);
  // The piece last asked for. Long ones are not kept.
  void keep(std::string_view piece, std::span<const std::int32_t> ids);

 private:
  static constexpr std::size_t kSlots = 1 << 15;
  struct Slot {  // 64 bytes
    std::array<char, 30> text = {};
    std::uint8_t bytes = 0;  // 0: free
    std::uint8_t count = 0;
    std::array<std::int32_t, 8> ids = {};
  };

  std::vector<Slot> slots_;
  Slot* asked_ = nullptr;
};

}  // namespace quire::data
