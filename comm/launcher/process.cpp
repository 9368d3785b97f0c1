#include "quire/comm/launcher/process.h"

#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace quire::comm {

Descriptor open_process(pid_t pid) {
  // The kernel sets close-on-exec.
  return Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

bool has_ended(const Descriptor& process) {
  pollfd entry{.fd = process.number(), .events = POLLIN, .revents = 0};
  return poll(&entry, 1, 0) == 1 && entry.revents != 0;
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : std::to_string(signal);
}

std::string ProcessEnd::to_string() const {
  if (signal == 0) return fmt::format("exited with code {}", code);
  return fmt::format("killed by signal {} ({})", signal, signal_name(signal));
}

std::optional<ProcessEnd> take_end(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, WNOHANG) != child) return std::nullopt;
  ProcessEnd end;
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
  } else {
    end.code = WEXITSTATUS(status);
  }
  return end;
}

}  // namespace quire::comm
