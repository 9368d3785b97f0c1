#include "quire/comm/launcher/children.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstdio>

#include "quire/core/error.h"
#include "quire/core/file_io.h"

namespace quire::comm {
namespace {

// A child that even SIGKILL does not end hangs in the kernel; nothing here can
// help that.
constexpr auto kKillLimit = std::chrono::seconds(10);

}  // namespace

Children::~Children() {
  kill_at_ = Clock::now();
  while (waiting()) wait(std::chrono::milliseconds(100));
}

bool Children::waiting() const {
  return alive_ != 0 && (!give_up_at_ || Clock::now() < *give_up_at_);
}

void Children::end_within(std::chrono::duration<double> grace) {
  if (kill_at_) return;
  kill_at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(grace);
}

void Children::kill_if_late() {
  if (!kill_at_ || give_up_at_ || Clock::now() < *kill_at_) return;
  signal_all(SIGKILL);
  give_up_at_ = Clock::now() + kKillLimit;
}

void Children::fork_one(const std::function<void()>& body) {
  std::fflush(nullptr);  // or the child would write it, too
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    throw SystemError(fmt::format("cannot start a process for rank {}: {}",
                                  children_.size(), reason_of(errno)));
  }
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // it died before that
    signals_.restore_in_child();
    if (signal_ == Signal::kGroup) {
      setpgid(0, 0);
    } else {
      signal(SIGINT, SIG_IGN);  // of a terminal, which interrupts the launcher
    }
    body();
    _exit(1);
  }
  if (signal_ == Signal::kGroup) setpgid(pid, pid);  // whoever comes first
  children_.push_back(
      {.pid = pid, .process = open_process(pid), .alive = true});
  ++alive_;
}

std::vector<Children::Ended> Children::wait(std::chrono::milliseconds limit,
                                            const std::vector<int>& data) {
  kill_if_late();
  std::vector<pollfd> entries;
  const auto add = [&](int descriptor) {
    entries.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
  };
  add(signals_.descriptor());
  for (const Child& child : children_) {
    if (child.alive) add(child.process.number());
  }
  for (const int descriptor : data) add(descriptor);
  poll(entries.data(), entries.size(), static_cast<int>(limit.count()));
  if (const int signal = signals_.take(); signal != 0) pass_on(signal);
  return take_ended();
}

std::vector<Children::Ended> Children::take_ended() {
  std::vector<Ended> ended;
  for (std::size_t i = 0; i < children_.size(); ++i) {
    Child& child = children_[i];
    if (!child.alive) continue;
    if (child.process.is_open() && !has_ended(child.process)) continue;
    // While the leader is not yet waited for, its group's number is its own.
    if (signal_ == Signal::kGroup && child.process.is_open()) {
      kill(-child.pid, SIGKILL);
    }
    const auto end = take_end(child.pid);
    if (!end) continue;
    child.alive = false;
    child.process.reset();
    --alive_;
    ended.push_back({.rank = static_cast<int>(i), .end = *end});
  }
  return ended;
}

void Children::signal_all(int signal) const {
  for (const Child& child : children_) {
    if (!child.alive) continue;
    kill(signal_ == Signal::kGroup ? -child.pid : child.pid, signal);
  }
}

void Children::pass_on(int signal) {
  const bool again = passed_on_ != 0;
  if (!again) passed_on_ = signal;
  signal_all(again ? SIGKILL : SIGTERM);
}

}  // namespace quire::comm
