// Child processes, one a rank, waited for until all have ended: what
// run_processes and run_command share.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "quire/comm/launcher/child_signals.h"
#include "quire/comm/launcher/process.h"

namespace quire::comm {

// None is left when it dies.
class Children {
 public:
  // kGroup: each child leads a process group, which is signalled as a whole and
  // ends with it. kChild: it shares this process's and ignores SIGINT.
  enum class Signal { kChild, kGroup };
  explicit Children(Signal signal) : signal_(signal) {}
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // The next rank's. `body` runs in the child and never returns. SystemError if
  // the system gives no process.
  void fork_one(const std::function<void()>& body);

  struct Ended {
    int rank;
    ProcessEnd end;
  };
  // Waits until a child has ended, a signal or data has come, or `limit` has
  // passed. Signals are passed on.
  std::vector<Ended> wait(std::chrono::milliseconds limit,
                          const std::vector<int>& data = {});

  // False once all have ended, or one did not even when it was killed.
  bool waiting() const;
  // Those that have not ended in `grace` from the first call on are killed.
  void end_within(std::chrono::duration<double> grace);
  void signal_all(int signal) const;
  // The first signal that was passed on, or 0.
  int passed_on() const { return passed_on_; }

 private:
  struct Child {
    pid_t pid;
    Descriptor process;
    bool alive;
  };
  using Clock = std::chrono::steady_clock;
  void pass_on(int signal);
  void kill_if_late();
  std::vector<Ended> take_ended();

  Signal signal_;
  ChildSignals signals_;
  std::vector<Child> children_;
  int alive_ = 0;
  int passed_on_ = 0;
  std::optional<Clock::time_point> kill_at_, give_up_at_;
};

}  // namespace quire::comm
