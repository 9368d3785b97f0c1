// What every communicator demands of the arguments of a call, and the bytes
// that the call sends under slot semantics.
#pragma once

#include <cstdint>
#include <span>

#include "quire/comm/communicator.h"

namespace quire::comm {

struct Place {  // a rank of a world
  int rank;
  int size;
};

// Each throws UsageError naming the call, what was got and what was expected,
// and returns the bytes that this rank sends.
std::int64_t check_all_gather(const Place& place, const Tensor& row,
                              const Call& call);
std::int64_t check_all_to_all(const Place& place, std::span<const Tensor> rows,
                              std::span<const Arrival> arrivals,
                              const Call& call);
std::int64_t check_broadcast(const Place& place, const Tensor& tensor, int root,
                             const Call& call);
void check_place(const Place& place);
void check_bytes(std::int64_t bytes);

}  // namespace quire::comm
