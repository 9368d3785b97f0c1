// The memory that a lane takes, on any device.
#pragma once

#include <cstdint>

#include "quire/core/device.h"
#include "quire/core/memory_report.h"
#include "quire/nn/model.h"

namespace quire::testing {

// Of a lane of 4 x 33 ids below `vocab`; `peak` is what it takes besides the
// parameters.
MemoryReport lane_memory(const nn::Model& model, std::int64_t vocab,
                         Device device);

}  // namespace quire::testing
