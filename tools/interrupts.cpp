#include "tools/interrupts.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace quire::tools {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

std::atomic<int> came = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void let_go() {
  for (const int each : kSignals) {
    struct sigaction now {};
    sigaction(each, nullptr, &now);
    if (now.sa_handler != SIG_IGN) ::signal(each, SIG_DFL);
  }
}

// Any later one, whichever it is, is the system's to handle.
void on_signal(int signal) {
  came = signal;
  let_go();
}

}  // namespace

std::string Interrupted::name() const {
  return std::string("SIG") + sigabbrev_np(signal);
}

void Interrupted::die() const {
  ::signal(signal, SIG_DFL);
  ::raise(signal);
  ::_exit(128 + signal);  // where it is blocked
}

Interrupts::Interrupts() {
  came = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int each : kSignals) {
    struct sigaction before {};
    sigaction(each, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(each, &action, nullptr);
  }
}

Interrupts::~Interrupts() { let_go(); }

void Interrupts::check() {
  if (came != 0) throw Interrupted{came};
}

}  // namespace quire::tools
