#include "quire/data/detail/piece_cache.h"

#include <algorithm>

#include "quire/core/hash.h"

namespace quire::data {

bool PieceCache::append(std::string_view piece,
                        std::vector<std::int32_t>& ids) {
  asked_ = nullptr;
  if (piece.size() > std::size(Slot().text)) return false;
  asked_ = &slots_[hash64(piece) % kSlots];
  if (asked_->bytes != piece.size() ||
      std::string_view(asked_->text.data(), asked_->bytes) != piece)
    return false;
  ids.insert(ids.end(), asked_->ids.begin(),
             asked_->ids.begin() + asked_->count);
  return true;
}

void PieceCache::keep(std::string_view piece,
                      std::span<const std::int32_t> ids) {
  if (asked_ == nullptr || ids.size() > asked_->ids.size()) return;
  std::ranges::copy(piece, asked_->text.begin());
  std::ranges::copy(ids, asked_->ids.begin());
  asked_->bytes = static_cast<std::uint8_t>(piece.size());
  asked_->count = static_cast<std::uint8_t>(ids.size());
}

}  // namespace quire::data
