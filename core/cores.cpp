#include "quire/core/cores.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "quire/core/detail/cpu_quota.h"
#include "quire/core/error.h"

namespace quire {
namespace {

int affinity_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  // There are more cores than a cpu_set_t counts.
  return static_cast<int>(std::thread::hardware_concurrency());
}

}  // namespace

int usable_cores() {
  std::ifstream file("/proc/self/cgroup");
  const std::string membership{std::istreambuf_iterator<char>(file), {}};
  const int cores = affinity_cores();
  return std::max(
      1,
      std::min(cores, cpu_quota("/sys/fs/cgroup", membership).value_or(cores)));
}

int default_threads(int local_ranks) {
  if (local_ranks < 1)
    throw UsageError(
        fmt::format("got {} local ranks; expected at least 1", local_ranks));
  return std::max(1, usable_cores() / local_ranks);
}

}  // namespace quire
