#include "tests/failures/cell.h"

#include <array>

#include "tests/support/pairwise.h"

namespace quire::failures {
namespace {

constexpr std::array kRankCounts = {2, 3, 5};

const char* name_of(Harm harm) {
  constexpr std::array<const char*, kHarms> kNames = {
      "throws", "is killed",          "ends early",
      "stalls", "runs out of budget", "runs out of disk"};
  return kNames.at(static_cast<std::size_t>(harm));
}

const char* name_of(Phase phase) {
  constexpr std::array<const char*, kPhases> kNames = {
      "data",   "forward", "backward", "reduce",     "commit",
      "update", "save",    "load",     "evaluation", "generation"};
  return kNames.at(static_cast<std::size_t>(phase));
}

Cell cell_of(const std::vector<int>& levels) {
  const int ranks = kRankCounts.at(static_cast<std::size_t>(levels[2]));
  return {.harm = static_cast<Harm>(levels[0]),
          .phase = static_cast<Phase>(levels[1]),
          .ranks = ranks,
          .processes = levels[3] == 0,
          .victim = levels[4] == 0 ? 0 : ranks - 1,
          .stage = levels[5],
          .mapped = levels[6] == 0};
}

}  // namespace

std::string name_of(const Cell& cell) {
  return std::string(name_of(cell.phase)) + ": rank " +
         std::to_string(cell.victim) + " of " + std::to_string(cell.ranks) +
         (cell.processes ? " processes " : " threads ") + name_of(cell.harm) +
         ", stage " + std::to_string(cell.stage) +
         (cell.mapped ? ", mapped" : ", slots");
}

bool makes_sense(const Cell& cell) {
  const Phase phase = cell.phase;
  switch (cell.harm) {
    case Harm::kThrows:
    case Harm::kStalls:
    case Harm::kEndsEarly:  // a thread ends by returning from its main
      return true;
    case Harm::kIsKilled:
      return cell.processes;  // of threads nobody is left to tell
    case Harm::kRunsOutOfBudget:
      // The others take nothing from the budget: batches, files and exchanges
      // are not counted, commit and update work in place, and generation has
      // no budget.
      return phase == Phase::kForward || phase == Phase::kBackward ||
             phase == Phase::kReduce || phase == Phase::kEvaluation;
    case Harm::kRunsOutOfDisk:
      return phase == Phase::kSave;  // the others write nothing
  }
  return false;
}

std::vector<Cell> full_matrix() {
  std::vector<Cell> cells;
  int round = 0;
  for (int harm = 0; harm < kHarms; ++harm)
    for (int phase = 0; phase < kPhases; ++phase)
      for (int ranks = 0; ranks < 3; ++ranks)
        for (int kind = 0; kind < 2; ++kind)
          for (int victim = 0; victim < 2; ++victim) {
            const Cell cell = cell_of(
                {harm, phase, ranks, kind, victim, round % 4, round / 4 % 2});
            if (!makes_sense(cell)) continue;
            cells.push_back(cell);
            ++round;
          }
  return cells;
}

std::vector<Cell> pairwise_choice() {
  std::vector<Cell> cells;
  const auto levels = {kHarms, kPhases, 3, 2, 2, 4, 2};
  for (test::Case c : test::Pairwise(levels).cases()) {
    Cell cell = cell_of(c);
    // A kill that nobody could tell of is one of processes.
    if (cell.harm == Harm::kIsKilled) cell.processes = true;
    if (makes_sense(cell)) cells.push_back(cell);
  }
  return cells;
}

}  // namespace quire::failures
