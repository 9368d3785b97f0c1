// Child processes and their ends.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "quire/core/descriptor.h"

namespace quire::comm {

// A descriptor that is readable once the process has ended; not open if it has
// ended and was waited for.
Descriptor open_process(pid_t pid);
bool has_ended(const Descriptor& process);

struct ProcessEnd {
  int code = 0;    // of exit, if no signal
  int signal = 0;  // that killed it; 0: it exited

  // "killed by signal 9 (SIGKILL)", "exited with code 7".
  std::string to_string() const;
  // As a shell reports it: the code, or 128 + signal.
  int shell_code() const { return signal != 0 ? 128 + signal : code; }
};

// Takes the child's end; none if it has not ended.
std::optional<ProcessEnd> take_end(pid_t child);
// "SIGKILL"; the number if it has no name.
std::string signal_name(int signal);

}  // namespace quire::comm
