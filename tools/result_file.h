// How the result of a forked rank reaches its parent, whatever its size: in an
// anonymous file that both have open.
#pragma once

#include "tools/output.h"

namespace quire::tools {

class ResultFile {
 public:
  ResultFile();  // SystemError if the system gives none
  ~ResultFile();
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;

  void write(const Result& result) const;
  Result read() const;  // what was written; empty if nothing was

 private:
  int descriptor_;
};

}  // namespace quire::tools
