// A run's folder: its checkpoints stand in it as step-NNNNNNNN, and only they
// decide what can be resumed. Names that begin with a dot are unfinished work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quire/checkpoint/files.h"
#include "quire/checkpoint/manifest.h"

namespace quire::checkpoint {

// "step-00000020".
std::string step_name(std::int64_t step);
// The inverse; none for any other name.
std::optional<std::int64_t> parse_step_name(std::string_view name);

// True for a checkpoint's folder, whole or not: it has the name of one, or a
// manifest.
bool is_step(const std::string& path);

struct Step {
  std::int64_t step;
  std::string path;
  // Empty if it is whole: its manifest keeps every rule, and every file is
  // there with the size and the header that the manifest says. Else why not.
  std::string problem;
};

// Ascending. UsageError unless `folder` is one.
std::vector<Step> list_steps(const std::string& folder);
// The largest number of its steps, whole or not; none if it has none.
std::optional<std::int64_t> newest_step(const std::string& folder);
// `path` itself if it is a step, else the newest of the run's folder, whole or
// not. UsageError if there is none.
std::string step_or_newest(const std::string& path);
// UsageError if the folder has the name of another step than its manifest's.
void check_name(const std::string& folder, const Manifest& manifest);
// Why the checkpoint in `folder` is not whole; empty if it is.
std::string problem_of(const std::string& folder);

// Which whole steps stay: the `newest` (0: all), and besides them those whose
// number is a multiple of `every` (0: none).
struct Keep {
  std::int64_t newest = 0;
  std::int64_t every = 0;
};
// Removes the other whole steps; broken ones are left. Each vanishes at once,
// so a kill leaves none half.
void prune(const std::string& folder, const Keep& keep,
           const FileObserver& observer = {});
// Removes what saves and prunes that were killed have left. REQUIRES: no save
// into this folder is under way.
void remove_leftovers(const std::string& folder,
                      const FileObserver& observer = {});
// UsageError if the folder exists and holds anything that does not begin with a
// dot: what it is, and how to go on.
void require_fresh(const std::string& folder);

}  // namespace quire::checkpoint
