// SIGTERM and SIGINT held back from this process while it has children, to be
// passed on to them.
#pragma once

#include <signal.h>

#include "quire/core/descriptor.h"

namespace quire::comm {

class ChildSignals {
 public:
  ChildSignals();
  ~ChildSignals();  // as it was before
  ChildSignals(const ChildSignals&) = delete;
  ChildSignals& operator=(const ChildSignals&) = delete;

  // Readable when one has come.
  int descriptor() const { return descriptor_.number(); }
  // The one that has come, or 0.
  int take() const;
  // In a new child: as it was before.
  void restore_in_child() const;

 private:
  sigset_t before_;
  Descriptor descriptor_;
};

}  // namespace quire::comm
