// What went wrong first, and where: the same on every rank.
#pragma once

#include <cstdint>
#include <string>

#include "quire/core/error.h"

namespace quire::comm {

// What a run ends with, unless its failure says otherwise.
inline constexpr int kUsageExit = 2;   // UsageError
inline constexpr int kSystemExit = 3;  // any other

struct Failure {
  int rank = -1;
  std::int64_t step = -1;  // -1: outside a step
  std::string layer{};     // or phase: "h.1", "commit", "save"; may be empty
  std::string message{};   // what the rank threw, or how it ended
  int exit_code = kSystemExit;  // what the run ends with

  // "rank 2: step 17: layer h.1: killed by signal 9 (SIGKILL)"
  std::string to_string() const;
};

// Thrown by every wait of the ranks that did not fail themselves.
class PeerError : public SystemError {
 public:
  explicit PeerError(Failure failure)
      : SystemError(failure.to_string()), failure_(std::move(failure)) {}
  const Failure& failure() const { return failure_; }

 private:
  Failure failure_;
};

}  // namespace quire::comm
