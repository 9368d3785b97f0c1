// The two kinds of error that Quire throws. A message names the rank, the
// tensor, file or key it is about, what was got, what was expected, and what to
// do. The library never prints and never exits.
#pragma once

#include <stdexcept>
#include <string>

namespace quire {

// A precondition was broken: an argument, a configuration, a file that breaks
// its format. Retrying cannot help.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& message)
      : std::runtime_error(message) {}
};

// A peer, a device or a disk failed. The world can be rebuilt and the run
// resumed from its last checkpoint.
class SystemError : public std::runtime_error {
 public:
  explicit SystemError(const std::string& message)
      : std::runtime_error(message) {}
};

// An allocation would exceed a budget; the message holds the table of
// categories.
class OutOfMemory : public SystemError {
 public:
  using SystemError::SystemError;
};

}  // namespace quire
