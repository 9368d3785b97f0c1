// A signal that ends the command, held back until what it made is removed.
#pragma once

#include <string>

#include "tools/output.h"

namespace quire::tools {

// What Interrupts::check throws.
struct Interrupted {
  int signal;

  std::string name() const;  // "SIGINT"
  // Ends the process as the signal would have.
  [[noreturn]] void die() const;
};

// While it lives the first SIGINT, SIGTERM or SIGHUP waits for a check, and a
// second one ends the command at once. One that is ignored stays so. At most
// one lives at a time.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  static void check();
};

// What `work` returns. Where a signal stops it, by Interrupts::check, a line
// says that nothing is left of `made`, and the process ends.
template <class Work>
auto unless_stopped(const std::string& made, const Work& work) {
  const Interrupts interrupts;
  try {
    return work();
  } catch (const Interrupted& stopped) {
    warn("stopped by " + stopped.name() + ": nothing is left of " + made);
    stopped.die();
  }
}

}  // namespace quire::tools
