// The CPU time that control groups grant this process.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace quire {

// The smallest quota on the way from the process's groups to the root, in
// cores, rounded up; none if nothing limits it. `root` is where control groups
// are mounted (/sys/fs/cgroup), `membership` the text of /proc/self/cgroup.
std::optional<int> cpu_quota(const std::filesystem::path& root,
                             std::string_view membership);

}  // namespace quire
