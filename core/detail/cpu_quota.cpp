#include "quire/core/detail/cpu_quota.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "quire/core/divide.h"

namespace quire {
namespace {

using std::filesystem::path;

std::optional<int> cores(std::int64_t quota, std::int64_t period) {
  if (quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<int>(std::min<std::int64_t>(
      divide_up(quota, period), std::numeric_limits<int>::max()));
}

std::int64_t read_number(const path& file) {
  std::int64_t value = 0;
  std::ifstream(file) >> value;
  return value;
}

// Version 2 writes "max 100000" or "QUOTA PERIOD" into cpu.max; version 1 has a
// file for each, and -1 for no limit.
std::optional<int> quota_of(const path& group) {
  std::int64_t quota = 0;
  std::int64_t period = 0;
  if (std::ifstream(group / "cpu.max") >> quota >> period)
    return cores(quota, period);
  return cores(read_number(group / "cpu.cfs_quota_us"),
               read_number(group / "cpu.cfs_period_us"));
}

void keep_smaller(std::optional<int>& least, std::optional<int> found) {
  if (found && (!least || *found < *least)) least = found;
}

std::optional<int> smallest_upwards(const path& mount, const path& inside) {
  std::optional<int> least;
  path group = inside.relative_path();
  while (!group.empty()) {
    keep_smaller(least, quota_of(mount / group));
    group = group.parent_path();
  }
  keep_smaller(least, quota_of(mount));
  return least;
}

bool lists_cpu(const std::string& controllers) {
  std::istringstream words(controllers);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "cpu") return true;
  }
  return false;
}

}  // namespace

std::optional<int> cpu_quota(const path& root, std::string_view membership) {
  std::optional<int> least;
  std::istringstream lines{std::string(membership)};
  std::string number, controllers, inside;
  while (std::getline(lines, number, ':') &&
         std::getline(lines, controllers, ':') && std::getline(lines, inside)) {
    if (controllers.empty())
      keep_smaller(least, smallest_upwards(root, inside));
    if (!lists_cpu(controllers)) continue;
    keep_smaller(least, smallest_upwards(root / "cpu", inside));
    if (controllers != "cpu")
      keep_smaller(least, smallest_upwards(root / controllers, inside));
  }
  return least;
}

}  // namespace quire
