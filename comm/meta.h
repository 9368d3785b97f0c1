// A communicator of one rank of a world that does not exist: it checks and
// counts what it is asked and moves nothing. The dry run's.
#pragma once

#include <memory>

#include "quire/comm/communicator.h"

namespace quire::comm {

// REQUIRES: 0 <= rank < size. mapped() is true; allocate() gives meta tensors.
std::unique_ptr<Communicator> meta_communicator(int rank, int size);

}  // namespace quire::comm
