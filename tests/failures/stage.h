// What the cells of the matrix start from, and a cell as a scene.
#pragma once

#include <cstdint>
#include <string>

#include "quire/train/config.h"
#include "tests/failures/cell.h"
#include "tests/failures/scene.h"
#include "tests/support/temp_folder.h"

namespace quire::failures {

// A tiny GPT-2 on a tiny text; a run of it that nothing disturbed, in `whole`,
// and its first checkpoint alone, in `half`.
class Stage {
 public:
  Stage();

  std::string path(const std::string& name) const { return folder_ / name; }
  // Saves every second of six steps and evaluates before.
  train::RunConfig config(const std::string& output) const;
  std::uint64_t fingerprint() const { return fingerprint_; }
  const std::string& text() const { return text_; }  // that it generates

 private:
  testing::TempFolder folder_;
  std::uint64_t fingerprint_ = 0;
  std::string text_;
};

struct Limits {
  double wait_s = 20;       // of one wait for peers
  double stall_wait_s = 2;  // in a cell that stalls
  // From the strike to the end of the last process; of a stall: beyond the
  // wait.
  double death_s = 2;
  double stall_s = 5;
};

// `stage` outlives it.
Scene scene_of(const Cell& cell, const Stage& stage, const Limits& limits);

}  // namespace quire::failures
