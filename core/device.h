// Where a tensor's bytes live.
#pragma once

#include <cstdint>
#include <string_view>

namespace quire {

// kMeta: storage with a size and no memory. Every kernel accepts meta tensors,
// allocates the scratch it would allocate and computes nothing, so that running
// a step on the meta device gives its births and deaths.
enum class Device : std::uint8_t { kCpu, kMeta };

std::string_view name_of(Device device);

}  // namespace quire
