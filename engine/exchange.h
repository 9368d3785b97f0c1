// A few bytes from every rank to every rank, as one all-gather over memory that
// is allocated once.
#pragma once

#include <cstring>
#include <type_traits>
#include <vector>

#include "quire/comm/communicator.h"
#include "quire/core/error.h"

namespace quire::engine {

// Used by one thread. Two exchanges that follow one another on the same memory
// need an exchange on other memory between them, so that nobody writes what a
// slow peer still reads: a step alternates weights and commit.
class Exchange {
 public:
  // Collective, blocking.
  Exchange(comm::Communicator& communicator, std::int64_t slice_bytes)
      : communicator_(&communicator),
        slice_bytes_(slice_bytes),
        row_(communicator.allocate(slice_bytes * communicator.size())) {}

  // Every rank's value, by rank; on the meta device this rank's alone. The
  // call's stream is inline.
  template <class T>
  std::vector<T> all(const T& mine, const comm::Call& call) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (static_cast<std::int64_t>(sizeof(T)) > slice_bytes_)
      throw UsageError("an exchange's value exceeds its slice");
    if (!row_.is_meta())
      std::memcpy(slice(communicator_->rank()), &mine, sizeof(T));
    communicator_->all_gather(row_, call);
    if (row_.is_meta()) return {mine};
    std::vector<T> values(static_cast<std::size_t>(communicator_->size()),
                          mine);
    for (int rank = 0; rank < communicator_->size(); ++rank) {
      std::memcpy(&values[static_cast<std::size_t>(rank)], slice(rank),
                  sizeof(T));
    }
    return values;
  }

 private:
  std::byte* slice(int rank) const { return row_.raw() + rank * slice_bytes_; }

  comm::Communicator* communicator_;
  std::int64_t slice_bytes_;
  Tensor row_;
};

}  // namespace quire::engine
