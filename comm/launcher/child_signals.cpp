#include "quire/comm/launcher/child_signals.h"

#include <fmt/format.h>
#include <sys/signalfd.h>

#include <cerrno>

#include "quire/core/error.h"
#include "quire/core/file_io.h"

namespace quire::comm {

ChildSignals::ChildSignals() {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGTERM);
  sigaddset(&held, SIGINT);
  descriptor_ = Descriptor(signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor_.is_open()) {
    throw SystemError(
        fmt::format("cannot wait for signals: {}", reason_of(errno)));
  }
  pthread_sigmask(SIG_BLOCK, &held, &before_);
}

ChildSignals::~ChildSignals() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int ChildSignals::take() const {
  signalfd_siginfo info{};
  const ssize_t read = ::read(descriptor_.number(), &info, sizeof(info));
  return read == sizeof(info) ? static_cast<int>(info.ssi_signo) : 0;
}

void ChildSignals::restore_in_child() const {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace quire::comm
