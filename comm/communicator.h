// Collectives over a fixed group of ranks. A communicator moves bytes and knows
// no element type's meaning: types change in the kernels that produce and
// consume what it moves.
//
// Every rank makes the same calls in the same order on a communicator; a call
// whose purpose, unit or sizes differ between ranks is refused by all of them
// with a message that shows both. Calls are queued on the call's stream, and
// their effects are visible to later work on that stream. Every wait ends: by
// the peers' arrival, by a peer's failure (PeerError), or by the time-out
// (SystemError naming the rank that is missing and where it is).
// A wait is passed by all ranks or by none: a call of one wait (a barrier; an
// all_gather in place, or of slices up to 16 KiB) that succeeds on one rank
// succeeds on every rank that does not die, even if a rank fails right after.
//
// Slots are the semantics: every rank has buffers of its own and bytes are
// copied between them. A local communicator may give its ranks one shared
// mapping instead (mapped()); then the same calls find the bytes in place and
// only wait. Tensors that did not come from allocate() are copied either way.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quire/comm/failure.h"
#include "quire/comm/record.h"
#include "quire/core/stream.h"
#include "quire/core/tensor.h"

namespace quire::comm {

struct Call {
  Stream* stream;
  Purpose purpose = Purpose::kControl;
  std::string_view unit = "";  // read until the call has run
};

// Where a rank is: kept where peers and the launcher can read it after the
// rank's death.
struct Location {
  std::int64_t step = -1;
  // "forward", "backward", "reduce", "commit", "update", "save", "load", ...
  std::string_view phase = "";
  std::string_view layer = "";  // or the file of a save or a load; or empty
};

// What arrives at this rank in an all_to_all: `slice` holds this rank's slice
// of one row that `from` sends.
struct Arrival {
  int from;
  Tensor slice;
};

// Used by one thread at a time, except abort(), which any thread may call.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // True if what allocate() returns is one memory, seen by all ranks at once.
  virtual bool mapped() const = 0;

  // Collective, blocking. `bytes` zero bytes as u8, the same size on every
  // rank; every rank sees the same bytes if mapped(), else its own. Not
  // accounted: the caller charges it. The tensor outlives the communicator.
  virtual Tensor allocate(std::int64_t bytes) = 0;

  // row is size() equal slices; before: slice rank() is this rank's; after:
  // slice r is rank r's, on every rank. If row came from allocate() and
  // mapped(): no byte moves; the owners' writes that preceded their call are
  // visible.
  virtual void all_gather(const Tensor& row, const Call& call) = 0;

  // Rank p receives slice p of every row of every rank. `rows`: this rank's,
  // each size() equal slices; ranks may give different numbers of rows, zero
  // too. `arrivals`: one for every row of every other rank, ordered by (from,
  // row). If mapped() and the rows came from allocate(), the arrivals' slices
  // are views of the senders' rows, nothing is copied, and the rows must not be
  // written before release().
  virtual void all_to_all(std::span<const Tensor> rows,
                          std::span<const Arrival> arrivals,
                          const Call& call) = 0;
  // After the arrivals of an all_to_all have been read (by work queued before
  // on call.stream): waits until every rank has, so that rows may be written
  // again. Moves nothing, is no collective of the plan, and is free unless
  // mapped().
  virtual void release(const Call& call) = 0;

  // Every rank's tensor becomes root's. Equal sizes.
  virtual void broadcast(const Tensor& tensor, int root, const Call& call) = 0;
  virtual void barrier(const Call& call) = 0;

  // A communicator of the same ranks with an order of calls of its own:
  // collective. `channel` names it in the record.
  virtual std::unique_ptr<Communicator> split(std::string_view channel) = 0;

  // Cheap: a few stores. Read by peers and the launcher when this rank dies.
  virtual void locate(const Location& location) = 0;
  virtual Location location() const = 0;
  // As locate, in the step in which this rank is.
  void enter(std::string_view phase, std::string_view layer = "") {
    locate({.step = location().step, .phase = phase, .layer = layer});
  }
  // Ends every wait of every rank of the world with PeerError(failure). The
  // first failure of a world is kept.
  virtual void abort(const Failure& failure) noexcept = 0;

  // The rank's, shared with its splits.
  virtual Record& record() = 0;

 protected:
  Communicator() = default;
};

// A failure of this rank, at the place that it was last located at.
Failure failure_at(const Communicator& communicator, std::string message,
                   int exit_code);

// Every rank's text, in the order of ranks. Collective; on call's stream,
// finished on return.
std::vector<std::string> gather_text(Communicator& communicator,
                                     std::string_view text, const Call& call);

}  // namespace quire::comm
