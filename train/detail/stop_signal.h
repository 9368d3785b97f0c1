// SIGTERM as a wish: while one of these lives, the first one is remembered and
// the process goes on. Private to this room.
#pragma once

namespace quire::train {

// Process-wide, as signals are: the ranks of a process share the wish, which is
// forgotten when the last of them dies. A launcher and its own launcher may
// both pass one wish on: a second signal counts if it comes half a second after
// the first, and then ends the process as if nobody had listened.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool seen() const;
};

}  // namespace quire::train
