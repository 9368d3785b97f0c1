// The collectives of one rank over a channel: each waits, copies what must be
// copied, and returns when its effects are in place. Arguments have been
// checked.
#pragma once

#include <span>

#include "quire/comm/local/channel.h"

namespace quire::comm::local {

// Where a tensor lies in memory that all ranks of the world see; memory 0:
// nowhere.
struct SharedPlace {
  std::int64_t memory = 0;
  std::int64_t offset = 0;
};
SharedPlace place_of(const Channel& channel, const Tensor& tensor);

void all_gather(Channel& channel, const Tensor& row, const Call& call);
void all_to_all(Channel& channel, std::span<const Tensor> rows,
                std::span<const Arrival> arrivals, const Call& call);
void broadcast(Channel& channel, const Tensor& tensor, int root,
               const Call& call);
// A phase that moves nothing.
void meet(Channel& channel, Kind kind, const Call& call);

}  // namespace quire::comm::local
