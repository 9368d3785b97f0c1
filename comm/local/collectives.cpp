#include "quire/comm/local/collectives.h"

#include "quire/comm/local/memory.h"

namespace quire::comm::local {

SharedPlace place_of(const Channel& channel, const Tensor& tensor) {
  const auto* storage =
      dynamic_cast<const SharedStorage*>(tensor.storage().get());
  if (storage == nullptr || storage->world() != channel.options().world.get()) {
    return {};
  }
  return {.memory = storage->id(), .offset = tensor.raw() - storage->data()};
}

void meet(Channel& channel, Kind kind, const Call& call) {
  Offer offer{};
  offer.signature = signature_of(kind, call);
  channel.meet(offer);
}

}  // namespace quire::comm::local
