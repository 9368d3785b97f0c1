#include "quire/comm/local/collectives.h"

namespace quire::comm::local {
namespace {

std::span<std::byte> part_of(const Tensor& tensor, std::int64_t begin,
                             std::size_t room) {
  const auto left = static_cast<std::size_t>(tensor.bytes() - begin);
  return {tensor.raw() + begin, std::min(left, room)};
}

}  // namespace

// A rank whose tensor is root's own memory copies nothing.
void broadcast(Channel& channel, const Tensor& tensor, int root,
               const Call& call) {
  const SharedPlace place = place_of(channel, tensor);
  Offer offer{};
  offer.signature = signature_of(Kind::kBroadcast, call);
  offer.signature.bytes = tensor.bytes();
  offer.signature.root = root;
  offer.memory = place.memory;
  offer.offset = place.offset;
  const auto room = static_cast<std::int64_t>(channel.mine().size());
  std::int64_t begin = 0;
  do {
    if (channel.rank() == root) {
      const auto part = part_of(tensor, begin, room);
      if (!part.empty()) {
        std::memcpy(channel.mine().data(), part.data(), part.size());
      }
    }
    begin == 0 ? channel.meet(offer) : channel.meet_again();
    const Offer& roots = channel.offer_of(root);
    const bool same = place.memory != 0 && roots.memory == place.memory &&
                      roots.offset == place.offset;
    const auto part = part_of(tensor, begin, room);
    if (channel.rank() != root && !same && !part.empty()) {
      std::memcpy(part.data(), channel.theirs(root).data(), part.size());
    }
    begin += room;
  } while (begin < tensor.bytes());
}

}  // namespace quire::comm::local
