// What happens to a rank's result and to what it throws, in a thread or in a
// process.
#pragma once

#include "quire/comm/run.h"

namespace quire::comm {

// Joins `world`, runs `main` and returns its result; an exception becomes the
// failure of the world, and its exit code the result.
int run_rank(LocalWorld& world, int rank, const RankMain& main);

// What the run ended with, from what its ranks returned.
RunResult result_of(const LocalWorld& world, const std::vector<int>& codes);

}  // namespace quire::comm
