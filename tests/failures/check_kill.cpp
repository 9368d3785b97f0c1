// A save that is killed, fails or loses its power at every call that changes
// the disk. Prints what went wrong, and "N passed, M failed" as its last line.
//
//   check_kill [WORD...]   only the scenes whose names hold all the words
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/failures/kill_scenes.h"
#include "tests/support/tally.h"

namespace quire::failures {
namespace {

constexpr std::size_t kLeastCalls = 60;

void add_scenes(const std::string& way, const KillStage& stage,
                std::vector<Scene>& scenes) {
  const std::size_t calls = stage.power_loss().calls().size();
  std::fprintf(stderr, "%s: %zu calls of %d ranks\n", way.c_str(), calls,
               kKillRanks);
  if (calls < kLeastCalls)
    throw std::runtime_error("too few calls to strike at");
  for (Scene& scene : stage.scenes()) {
    scene.name = way + ", " + scene.name;
    scenes.push_back(std::move(scene));
  }
}

int run(const std::vector<std::string>& words) {
  const KillStage waiting(KillStage::Way::kWaits);
  const KillStage background(KillStage::Way::kGoesOn);
  std::vector<Scene> scenes;
  add_scenes("the run waits", waiting, scenes);
  add_scenes("the run goes on", background, scenes);
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
