#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "quire/comm/local.h"
#include "quire/comm/local/first_failure.h"
#include "quire/comm/local/local_communicator.h"
#include "quire/comm/local/state.h"

namespace quire::comm {
namespace {

// When the process started, in ticks since boot; 0 if there is none: with the
// number it names a process for ever.
unsigned long long start_of(long long pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(')');  // a name may hold anything
  if (name_end == std::string::npos) return 0;
  unsigned long long start = 0;
  const char* fields = text.c_str() + name_end + 1;
  const int read = std::sscanf(fields,
                               " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                               "%*s %*s %*s %*s %*s %*s %*s %*s %llu",
                               &start);
  return read == 1 ? start : 0;
}

local::Control create(int size, const LocalOptions& options) {
  if (size < 1 || size > local::kMaxRanks) {
    throw UsageError(fmt::format("got a world of {} ranks; expected 1 ... {}",
                                 size, local::kMaxRanks));
  }
  if (!(options.timeout_s > 0) || options.timeout_s > 1e8) {
    throw UsageError(fmt::format(
        "got a time-out of {} s; expected more than 0 and at most 1e8",
        options.timeout_s));
  }
  return local::Control::create(size, options.timeout_s, options.mapped);
}

}  // namespace

LocalWorld::LocalWorld(int size, LocalOptions options)
    : state_(std::make_shared<State>(create(size, options))) {}

LocalWorld::LocalWorld(std::shared_ptr<State> state)
    : state_(std::move(state)) {}

LocalWorld::~LocalWorld() = default;
LocalWorld::LocalWorld(LocalWorld&&) noexcept = default;
LocalWorld& LocalWorld::operator=(LocalWorld&&) noexcept = default;

int LocalWorld::size() const { return state_->control.size(); }

std::string LocalWorld::address() const {
  return fmt::format("local:{}:{}:{}", getpid(), start_of(getpid()),
                     state_->control.memory().descriptor());
}

LocalWorld LocalWorld::open(const std::string& address) {
  long long pid = 0;
  unsigned long long start = 0;
  int descriptor = 0, end = 0;
  const int read = std::sscanf(address.c_str(), "local:%lld:%llu:%d%n", &pid,
                               &start, &descriptor, &end);
  if (read != 3 || static_cast<std::size_t>(end) != address.size() ||
      pid <= 0 || descriptor < 0) {
    throw UsageError(fmt::format(
        "got the address \"{}\" of a world; expected local:PID:START:FD",
        address));
  }
  if (start_of(pid) != start) {
    throw SystemError(
        fmt::format("the world {} is gone: its process ended", address));
  }
  return LocalWorld(std::make_shared<State>(
      local::Control::open(local::descriptor_path(pid, descriptor))));
}

std::unique_ptr<Communicator> LocalWorld::join(int rank) {
  return local::join_world(state_, rank);
}

std::optional<Failure> LocalWorld::failure() const {
  return local::first_failure(state_->control);
}

void LocalWorld::report_death(int rank, std::string message, int exit_code) {
  const local::Control& control = state_->control;
  Failure failure = local::failure_of(control, rank, std::move(message));
  failure.exit_code = exit_code;
  local::publish(control, failure, size(), local::Witness::kOfTheDead);
  control.rank(rank).state.store(local::RankState::kDead);
}

bool LocalWorld::has_left(int rank) const {
  return state_->control.rank(rank).state.load() == local::RankState::kEnded;
}

}  // namespace quire::comm
