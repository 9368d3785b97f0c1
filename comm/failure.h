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
  std::int64_t step = -1;  // -1: outside a training
  std::string phase{};     // "forward", "commit", "save"; may be empty
  std::string layer{};     // "h.1", or the file of a save or a load, or empty
  std::string message{};   // what the rank threw, or how it ended
  std::string detail{};    // lines that help to find the cause; may be empty
  int exit_code = kSystemExit;  // what the run ends with

  // "layer h.1 (forward)", "save of shard-00001-of-00003.safetensors",
  // "commit"; empty if nothing is known.
  std::string place() const;
  // "rank 2: step 17: layer h.1 (forward): killed by signal 9 (SIGKILL)"
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
