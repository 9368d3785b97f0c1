#include "quire/comm/local/collectives.h"

namespace quire::comm::local {
namespace {

// As much of the slice, from `begin` on, as one half of the staging takes.
std::span<std::byte> part_of(const Tensor& row, int ranks, int rank,
                             std::int64_t begin, std::size_t room) {
  const std::int64_t slice = row.bytes() / ranks;
  const auto left = static_cast<std::size_t>(slice - begin);
  return {row.raw() + rank * slice + begin, std::min(left, room)};
}

void stage(Channel& channel, const Tensor& row, std::int64_t begin) {
  const auto room = channel.mine();
  const auto part =
      part_of(row, channel.size(), channel.rank(), begin, room.size());
  if (!part.empty()) std::memcpy(room.data(), part.data(), part.size());
}

void collect(Channel& channel, const Tensor& row, std::int64_t begin) {
  for (int r = 0; r < channel.size(); ++r) {
    if (r == channel.rank()) continue;
    const auto from = channel.theirs(r);
    const auto part = part_of(row, channel.size(), r, begin, from.size());
    if (!part.empty()) std::memcpy(part.data(), from.data(), part.size());
  }
}

}  // namespace

void all_gather(Channel& channel, const Tensor& row, const Call& call) {
  const SharedPlace place = place_of(channel, row);
  Offer offer{};
  offer.signature = signature_of(Kind::kAllGather, call);
  offer.signature.bytes = row.bytes();
  offer.signature.in_place = place.memory != 0;
  offer.signature.memory = place.memory;
  offer.signature.offset = place.offset;
  if (place.memory != 0) return channel.meet(offer);
  const std::int64_t slice = row.bytes() / channel.size();
  const auto room = static_cast<std::int64_t>(channel.mine().size());
  stage(channel, row, 0);
  channel.meet(offer);
  collect(channel, row, 0);
  for (std::int64_t begin = room; begin < slice; begin += room) {
    stage(channel, row, begin);
    channel.meet_again();
    collect(channel, row, begin);
  }
}

}  // namespace quire::comm::local
