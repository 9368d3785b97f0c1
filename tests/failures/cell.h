// One cell of the matrix of failures: what happens, in which phase of a run, to
// which rank of how many.
#pragma once

#include <string>
#include <vector>

namespace quire::failures {

enum class Harm {
  kThrows,
  kIsKilled,
  kEndsEarly,
  kStalls,
  kRunsOutOfBudget,
  kRunsOutOfDisk,
};
inline constexpr int kHarms = 6;

enum class Phase {
  kData,
  kForward,
  kBackward,
  kReduce,
  kCommit,
  kUpdate,
  kSave,
  kLoad,
  kEvaluation,
  kGeneration,
};
inline constexpr int kPhases = 10;

struct Cell {
  Harm harm;
  Phase phase;
  int ranks;
  bool processes;  // or threads
  int victim;
  int stage;
  bool mapped;
};

std::string name_of(const Cell& cell);
// False where no such run exists: see the comments there.
bool makes_sense(const Cell& cell);
// {harms} x {phases} x {2, 3, 5 ranks} x {processes, threads} x {first, last
// rank}, as far as they make sense; stages and kinds of memory go round.
std::vector<Cell> full_matrix();
// A few of them, in which every harm meets every phase, and every pair of the
// other factors occurs.
std::vector<Cell> pairwise_choice();

}  // namespace quire::failures
