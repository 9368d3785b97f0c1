// The full matrix of failures, and the command under signals. Prints what went
// wrong, and "N passed, M failed" as its last line.
//
//   check_failures [WORD...]   only the scenes whose names hold all the words
#include <string>
#include <vector>

#include "tests/failures/command_scenes.h"
#include "tests/failures/stage.h"
#include "tests/support/tally.h"

namespace quire::failures {
namespace {

int run(const std::vector<std::string>& words) {
  const Stage stage;
  const CommandStage command(400);
  std::vector<Scene> scenes;
  for (const Cell& cell : full_matrix())
    scenes.push_back(scene_of(cell, stage, {}));
  for (Scene& scene : command.scenes()) scenes.push_back(std::move(scene));
  keep(scenes, words);
  return play_and_count(scenes, 2);
}

}  // namespace
}  // namespace quire::failures

int main(int argc, char** argv) {
  return quire::test::run_check([&] {
    return quire::failures::run({argv + 1, argv + argc});
  });
}
