// Ranks of one host over shared memory, as threads of a process or as
// processes: one implementation.
//
// A world is a memfd with one control block: for every rank its state, its
// process, where it is, its counters of arrivals. Nothing is left behind by a
// kill: the kernel drops the memory with its last mapping.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "quire/comm/communicator.h"

namespace quire::comm {

struct LocalOptions {
  double timeout_s = 60.0;  // of one wait for peers
  bool mapped = true;       // false: slots, bytes are copied
};

// The shared control block of `size` ranks. Created by a launcher before its
// ranks exist (threads share it, forked children inherit it), or by rank 0 and
// opened by the others (launch.h). Movable handle.
class LocalWorld {
 public:
  // Throws UsageError unless 1 <= size <= 256.
  LocalWorld(int size, LocalOptions options);
  // Another process's world: what address() of its creator gave, checked.
  static LocalWorld open(const std::string& address);
  ~LocalWorld();
  LocalWorld(LocalWorld&&) noexcept;
  LocalWorld& operator=(LocalWorld&&) noexcept;

  int size() const;
  // How a process of the same user on this host finds the world while the
  // creator lives.
  std::string address() const;
  // Rank `rank` joins, once; blocks until all have, at most the time-out. Its
  // death is seen by the others from here on.
  std::unique_ptr<Communicator> join(int rank);

  // For launchers. The first failure, if any.
  std::optional<Failure> failure() const;
  // Records that rank `rank` ended as `message` says, unless a failure is known
  // already; wakes all waits.
  void report_death(int rank, std::string message, int exit_code);
  // True once the rank has ended well or its communicator has died.
  bool has_left(int rank) const;

  struct State;

 private:
  explicit LocalWorld(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace quire::comm
