// A rank of a LocalWorld.
#pragma once

#include "quire/comm/local/channel.h"

namespace quire::comm::local {

// Joins as `rank`; blocks until all have.
std::unique_ptr<Communicator> join_world(
    const std::shared_ptr<LocalWorld::State>& world, int rank);

}  // namespace quire::comm::local
