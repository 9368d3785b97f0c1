// A choice of the matrix of failures; scripts/check_failures plays all of it.
#include <gtest/gtest.h>

#include "tests/failures/stage.h"

namespace quire::failures {
namespace {

// Times are no promise on a machine that does other things, too.
constexpr Limits kPatient{.stall_wait_s = 3, .death_s = 60, .stall_s = 60};

TEST(Failures, EndEveryRankAreNamedAndLeaveACheckpointToGoOnFrom) {
  const Stage stage;
  std::vector<Scene> scenes;
  for (const Cell& cell : pairwise_choice())
    scenes.push_back(scene_of(cell, stage, kPatient));
  EXPECT_GE(scenes.size(), 30u);
  play(scenes, 4, [](const std::string& scene, const std::string& problem) {
    EXPECT_EQ(problem, "") << scene;
  });
}

}  // namespace
}  // namespace quire::failures
