// How many cores there are, and how many of them a rank takes.
#pragma once

namespace quire {

// Cores that this process may use (its affinity mask, and a control group's CPU
// quota rounded up), at least 1.
int usable_cores();
// The default size of a rank's pool: usable_cores() / local_ranks, at least 1.
// REQUIRES: local_ranks >= 1; else UsageError.
int default_threads(int local_ranks);

}  // namespace quire
