// Typed tensors in memory that all ranks of a mapped world see.
#pragma once

#include "quire/comm/communicator.h"

namespace quire::engine {

// Collective; zero. See Communicator::allocate.
inline Tensor mapped_tensor(comm::Communicator& communicator, DType dtype,
                            const Shape& shape) {
  const Tensor bytes = communicator.allocate(shape.numel() * size_of(dtype));
  return {bytes.storage(), dtype, shape};
}

}  // namespace quire::engine
