#include "quire/train/detail/stop_signal.h"

#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

namespace quire::train {
namespace {

constexpr std::int64_t kOneWishNs = 500'000'000;

// Of the first signal; 0: none.
std::atomic<std::int64_t> first_ns = 0;
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

struct Installed {
  std::mutex mutex;
  int users = 0;
  struct sigaction terminate_before {};
  struct sigaction interrupt_before {};
  std::thread taker;
  std::atomic<bool> done = false;
};
Installed installed;

sigset_t both() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec + 1;
}

void on_signal(int signal) {
  const std::int64_t now = now_ns();
  std::int64_t none = 0;
  if (first_ns.compare_exchange_strong(none, now)) return;
  if (now - none < kOneWishNs) return;
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// The taker's whole life: to be interrupted.
void take_signals() {
  const sigset_t taken = both();
  pthread_sigmask(SIG_UNBLOCK, &taken, nullptr);
  installed.done.wait(false);
}

void install() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, &installed.terminate_before);
  // Who ignores an interruption has a launcher that hears it.
  sigaction(SIGINT, nullptr, &installed.interrupt_before);
  if (installed.interrupt_before.sa_handler != SIG_IGN)
    sigaction(SIGINT, &action, nullptr);
  installed.done = false;
  installed.taker = std::thread(take_signals);
}

void uninstall() {
  installed.done = true;
  installed.done.notify_all();
  installed.taker.join();
  sigaction(SIGTERM, &installed.terminate_before, nullptr);
  sigaction(SIGINT, &installed.interrupt_before, nullptr);
  first_ns = 0;
}

}  // namespace

StopSignal::StopSignal() {
  const sigset_t taken = both();
  pthread_sigmask(SIG_BLOCK, &taken, &before_);
  const std::lock_guard lock(installed.mutex);
  if (installed.users++ == 0) install();
}

StopSignal::~StopSignal() {
  {
    const std::lock_guard lock(installed.mutex);
    if (--installed.users == 0) uninstall();
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool StopSignal::seen() const { return first_ns != 0; }

}  // namespace quire::train
