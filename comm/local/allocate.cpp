#include "quire/comm/local/allocate.h"

#include <unistd.h>

#include "quire/comm/local/memory.h"

namespace quire::comm::local {
namespace {

Tensor tensor_in(SharedStorage::Options options) {
  const Shape shape{options.bytes};
  return {std::make_shared<SharedStorage>(std::move(options)), DType::kU8,
          shape};
}

bool all_in_this_process(const Control& control) {
  for (int r = 0; r < control.size(); ++r) {
    if (control.rank(r).pid.load() != getpid()) return false;
  }
  return true;
}

std::shared_ptr<Memory> make_memory(const Control& control,
                                    std::int64_t bytes) {
  if (all_in_this_process(control)) return Memory::anonymous(bytes);
  auto memory = Memory::create(bytes);
  memory->reserve(0, bytes);
  return memory;
}

void keep(LocalWorld::State& world, std::int64_t id,
          const std::shared_ptr<Memory>& memory) {
  const std::lock_guard lock(world.mutex);
  std::erase_if(world.memories,
                [](const auto& entry) { return entry.second.expired(); });
  world.memories[id] = memory;
}

// Another thread's, if there is one in this process that holds it.
std::shared_ptr<Memory> find(LocalWorld::State& world, std::int64_t id) {
  const std::lock_guard lock(world.mutex);
  const auto found = world.memories.find(id);
  return found == world.memories.end() ? nullptr : found->second.lock();
}

std::shared_ptr<Memory> open_memory(Channel& channel, const Offer& offer,
                                    std::int64_t bytes) {
  LocalWorld::State& world = *channel.options().world;
  if (auto memory = find(world, offer.memory)) return memory;
  const int owner = channel.control().rank(0).pid.load();
  auto memory = Memory::open(descriptor_path(owner, offer.descriptor), bytes);
  memory->close_descriptor();
  keep(world, offer.memory, memory);
  return memory;
}

// Rank 0 makes the memory and keeps its descriptor until all have opened it.
Tensor allocate_mapped(Channel& channel, Offer offer) {
  const std::int64_t bytes = offer.signature.bytes;
  const auto& world = channel.options().world;
  std::shared_ptr<Memory> memory;
  if (channel.rank() == 0) {
    memory = make_memory(channel.control(), bytes);
    offer.memory = channel.control().header().next_memory.fetch_add(1);
    offer.descriptor = memory->descriptor();
    keep(*world, offer.memory, memory);
  }
  channel.meet(offer);
  const Offer owners = channel.offer_of(0);
  if (channel.rank() != 0) memory = open_memory(channel, owners, bytes);
  channel.meet_again();
  if (channel.rank() == 0) memory->close_descriptor();
  return tensor_in({.memory = std::move(memory),
                    .bytes = bytes,
                    .world = world,
                    .id = owners.memory});
}

}  // namespace

Tensor allocate(Channel& channel, std::int64_t bytes) {
  Offer offer{};
  offer.signature = signature_of(Kind::kAllocate, {.stream = nullptr});
  offer.signature.bytes = bytes;
  if (channel.options().world->mapped()) return allocate_mapped(channel, offer);
  channel.meet(offer);
  return tensor_in({.memory = Memory::anonymous(bytes),
                    .bytes = bytes,
                    .world = nullptr,
                    .id = 0});
}

}  // namespace quire::comm::local
