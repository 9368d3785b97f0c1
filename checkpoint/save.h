// Writes a checkpoint of all ranks: each its own file, nothing gathered.
//
//   rank 0 makes .step-NNNNNNNN.tmp-XXXXXXXX
//   all    write shard-RRRRR-of-NNNNN.safetensors into it and sync it
//   rank 0 reads the tiles' hashes from the files, writes manifest.json, syncs,
//          renames to step-NNNNNNNN, removes older steps as told
//
// A kill at any point leaves the steps that were there, whole, and at most a
// folder with a dot, which the next save removes.
#pragma once

#include <cstdint>
#include <string>

#include "quire/checkpoint/save_request.h"
#include "quire/comm/communicator.h"
#include "quire/core/stream.h"

namespace quire::checkpoint {

// Collective. Saves into `folder`, which is made if need be; an existing step
// of the same number is replaced in one step. The stream's work is waited for
// first. Returns the checkpoint's fingerprint. If any rank fails, all throw its
// error, named by rank, and nothing is published, unless all that failed was to
// remove an older step that need not be kept: the error names what cannot be
// removed, and the new step stands. That the disk has not enough room is found
// before anything is written. After an error the next save may be made at once.
// A rank that makes the call alone ends by the communicator's time-out.
std::uint64_t save(const std::string& folder, const SaveRequest& request,
                   comm::Communicator& communicator, Stream& stream);

}  // namespace quire::checkpoint
