// The quire command as people run it, while a signal from outside hits it or
// one of its ranks. Needs QUIRE_COMMAND, its path.
#pragma once

#include <string>
#include <vector>

#include "tests/failures/scene.h"
#include "tests/support/command.h"

namespace quire::failures {

// How the ranks are started.
enum class Kind { kProcesses, kThreads, kQuireRun };

std::string last_line(const std::string& text);

class CommandStage {
 public:
  explicit CommandStage(int steps);

  // The command line that trains into `out`.
  testing::Words words(Kind kind, int ranks, const std::string& out,
                       const testing::Words& more = {}) const;
  const std::string& fingerprint() const { return fingerprint_; }
  // The folder of that run.
  std::string whole() const { return folder_.path("whole"); }
  // Of 2, 3 and 5 ranks; the stage outlives them.
  std::vector<Scene> scenes() const;

 private:
  testing::RunFolder folder_;
  int steps_;
  std::string fingerprint_;  // of the run that nothing disturbs
};

}  // namespace quire::failures
