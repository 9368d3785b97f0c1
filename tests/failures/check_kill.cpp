// A save that is killed, fails or loses its power at every call that changes
// the disk. Prints what went wrong, and "N passed, M failed" as its last line.
//
//   check_kill [WORD...]   only the scenes whose names hold all the words
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "tests/failures/kill_scenes.h"

namespace quire::failures {
namespace {

constexpr std::size_t kLeastCalls = 60;

int run(const std::vector<std::string>& words) {
  const KillStage stage({});
  const std::size_t calls = stage.power_loss().calls().size();
  std::fprintf(stderr, "%zu calls of %d ranks\n", calls, kKillRanks);
  if (calls < kLeastCalls) {
    std::printf("got %zu calls; expected at least %zu\n", calls, kLeastCalls);
    return 1;
  }
  std::vector<Scene> scenes;
  for (Scene& scene : stage.scenes()) {
    const bool chosen = std::ranges::all_of(words, [&](const auto& word) {
      return scene.name.find(word) != std::string::npos;
    });
    if (chosen) scenes.push_back(std::move(scene));
  }
  return play_and_count(scenes, 2);
}

}  // namespace
}  // namespace quire::failures

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  try {
    return quire::failures::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::printf("%s\n0 passed, 1 failed\n", error.what());
    return 1;
  }
}
