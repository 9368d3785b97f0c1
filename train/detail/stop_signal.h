// SIGTERM and SIGINT as a wish: while one of these lives, the first one is
// remembered and the process goes on. SIGINT is left ignored where it was.
#pragma once

#include <signal.h>

namespace quire::train {

// Process-wide, as signals are: the ranks of a process share the wish, which is
// forgotten when the last of them dies. A launcher and its own launcher may
// both pass one wish on: a second signal counts if it comes half a second after
// the first, and then ends the process as if nobody had listened.
//
// A thread of its own takes the signals. The calling thread holds them back,
// and so does every thread that it starts in the meantime: generated code of a
// matrix product has the stack pointer in the middle of its buffers, and a
// handler that ran there would write its frame into the heap.
// REQUIRES: dies in the thread in which it was made.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool seen() const;

 private:
  sigset_t before_;  // what the calling thread held back
};

}  // namespace quire::train
