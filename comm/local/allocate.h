// Memory of a world: collective.
#pragma once

#include "quire/comm/local/channel.h"

namespace quire::comm::local {

// `bytes` zero bytes, seen by all ranks if the world is mapped.
Tensor allocate(Channel& channel, std::int64_t bytes);

}  // namespace quire::comm::local
