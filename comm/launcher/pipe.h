// Both ends of a pipe, each closed when it dies or in a program that is
// executed.
#pragma once

#include "quire/core/descriptor.h"

namespace quire::comm {

struct Pipe {
  Pipe();  // SystemError if the system gives none

  Descriptor reader, writer;
};

}  // namespace quire::comm
