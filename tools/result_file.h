// How the result of a forked rank reaches its parent, whatever its size: in an
// anonymous file that both have open.
#pragma once

#include "quire/core/descriptor.h"
#include "tools/output.h"

namespace quire::tools {

class ResultFile {
 public:
  ResultFile();  // SystemError if the system gives none

  void write(const Result& result) const;
  Result read() const;  // what was written; empty if nothing was

 private:
  Descriptor descriptor_;
};

}  // namespace quire::tools
