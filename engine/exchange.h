// A few bytes from every rank to every rank, as one all-gather over memory that
// is allocated once.
#pragma once

#include <cstring>
#include <type_traits>
#include <vector>

#include "quire/comm/communicator.h"
#include "quire/core/error.h"

namespace quire::engine {

// Used by one thread. Takes two rows in turn: who has passed an exchange knows
// that all have read the one before, so nobody writes what a slow peer reads.
class Exchange {
 public:
  // Collective, blocking.
  Exchange(comm::Communicator& communicator, std::int64_t slice_bytes)
      : communicator_(&communicator),
        slice_bytes_(slice_bytes),
        rows_(communicator.allocate(2 * slice_bytes * communicator.size())) {}

  // Every rank's value, by rank; on the meta device this rank's alone. The
  // call's stream is inline.
  template <class T>
  std::vector<T> all(const T& mine, const comm::Call& call) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (static_cast<std::int64_t>(sizeof(T)) > slice_bytes_)
      throw UsageError("an exchange's value exceeds its slice");
    const Tensor row = next_row();
    const auto slice = [&](int rank) {
      return row.raw() + rank * slice_bytes_;
    };
    if (!row.is_meta())
      std::memcpy(slice(communicator_->rank()), &mine, sizeof(T));
    communicator_->all_gather(row, call);
    if (row.is_meta()) return {mine};
    std::vector<T> values(static_cast<std::size_t>(communicator_->size()),
                          mine);
    for (int rank = 0; rank < communicator_->size(); ++rank) {
      std::memcpy(&values[static_cast<std::size_t>(rank)], slice(rank),
                  sizeof(T));
    }
    return values;
  }

 private:
  Tensor next_row() {
    const std::int64_t bytes = slice_bytes_ * communicator_->size();
    return rows_.range(bytes * (exchanges_++ % 2), bytes);
  }

  comm::Communicator* communicator_;
  std::int64_t slice_bytes_;
  Tensor rows_;
  std::int64_t exchanges_ = 0;
};

}  // namespace quire::engine
