// Kills, failing calls and power losses at every call of a save that changes
// the disk, as scenes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quire/train/config.h"
#include "tests/checkpoint/power_loss.h"
#include "tests/failures/scene.h"
#include "tests/support/temp_folder.h"

namespace quire::failures {

inline constexpr int kKillRanks = 3;

// A tiny GPT-2 on three ranks that are processes. A run of 8 steps that nothing
// disturbed; one that has come to step 4, which saved steps 2 and 4; and what
// its resume does to the disk: it saves step 6 and removes step 2.
class KillStage {
 public:
  // Whether steps wait for saves. If not, the resumed run makes one step more,
  // because it waits for the save of its last one.
  enum class Way : std::uint8_t { kWaits, kGoesOn };
  explicit KillStage(Way way);

  train::RunConfig config(const std::string& output, int steps) const;
  const std::string& half() const { return half_; }
  int struck_steps() const { return way_ == Way::kWaits ? 6 : 7; }
  std::uint64_t fingerprint() const { return fingerprint_; }
  const test::PowerLoss& power_loss() const { return *power_loss_; }
  // Of a rank.
  std::vector<test::DiskCall> calls_of(int rank) const;

  // {SIGKILL, ENOSPC, EIO} x ranks x their calls; then a power loss before
  // every call. This outlives them.
  std::vector<Scene> scenes() const;

 private:
  std::vector<test::DiskCall> record() const;

  testing::TempFolder folder_;
  std::string half_ = folder_ / "half";
  Way way_;
  std::uint64_t fingerprint_ = 0;
  std::optional<test::PowerLoss> power_loss_;
};

}  // namespace quire::failures
