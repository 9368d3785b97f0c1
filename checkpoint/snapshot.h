// A rank's copy of what it answers for: written at leisure while the originals
// change.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "quire/checkpoint/save_request.h"
#include "quire/core/allocator.h"
#include "quire/core/thread_pool.h"

namespace quire::checkpoint {

class Snapshot {
 public:
  // Room for `parts`, each in whole tiles (so that of equal slices the first
  // rank's takes most), and written once, so that no copy is the first to touch
  // a page. On the meta device it holds what it would hold.
  Snapshot(std::span<const Part> parts, Allocator& allocator);

  // The parts again, with copies of their values, which stay as they are until
  // the next call. UsageError unless kinds, parameters, ranges and types are
  // those of the constructor.
  const std::vector<Part>& take(std::span<const Part> parts, ThreadPool& pool);

 private:
  std::vector<Part> copies_;
};

}  // namespace quire::checkpoint
