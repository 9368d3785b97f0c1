#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "quire/core/bytes.h"
#include "quire/core/hash.h"
#include "quire/core/text.h"
#include "quire/train/result.h"

namespace quire::train {
namespace {

// Of the steps of this start.
std::string figures_of(const TrainResult& r) {
  return fmt::format(
      "speed         {:.0f} tokens/s on {}, stage {}, {} per wave\n"
      "peak memory   predicted {}, measured {}\n"
      "wire          predicted {}, measured {}\n"
      "collectives   predicted {}, measured {}\n",
      r.tokens_per_s, counted(r.ranks, "rank"), r.stage,
      counted(r.wave, "lane"), format_bytes(r.memory.predicted_peak_bytes),
      format_bytes(r.memory.measured_peak_bytes),
      format_bytes(r.predicted.wire_bytes), format_bytes(r.measured.wire_bytes),
      r.predicted.collectives, r.measured.collectives);
}

}  // namespace

bool PlanReport::any_fits() const {
  return std::ranges::any_of(plans, &Entry::fits);
}

std::string to_text(const TrainResult& r) {
  const bool ran = !std::isnan(r.loss);
  std::string text =
      fmt::format("steps         {} (skipped: {}){}\n", r.steps, r.skipped,
                  r.stopped ? ", stopped by a signal" : "");
  if (ran) text += fmt::format("loss          {:.6f}\n", r.loss);
  if (r.validation) {
    text += fmt::format("validation    {:.6f} over {} targets\n",
                        r.validation->loss, r.validation->targets);
  }
  if (ran) text += figures_of(r);
  if (r.pause > 0)
    text += fmt::format("pause         {:.1f} ms at most for a save\n",
                        r.pause * 1e3);
  return text + fmt::format("fingerprint   {}\n", to_hex(r.fingerprint));
}

std::string to_text(const EvaluateResult& result) {
  return fmt::format("loss {:.6f} over {} targets\n", result.loss,
                     result.targets);
}

std::string to_text(const PlanReport& report) {
  std::string text;
  for (const PlanReport::Entry& entry : report.plans) {
    text += fmt::format(
        "{}, stage {}, {} per rank and wave: {} at the peak of "
        "the rank that needs most{}\n",
        counted(entry.ranks, "rank"), entry.stage, counted(entry.wave, "lane"),
        format_bytes(entry.memory.total_peak),
        !report.budget_bytes ? ""
        : entry.fits         ? ", fits"
                             : ", does not fit");
    text += entry.memory.table(report.budget_bytes);
    text += fmt::format("a step: {} collectives, {} on the wire\n",
                        entry.step.collectives,
                        format_bytes(entry.step.wire_bytes));
    text += entry.steps;
    text += '\n';
  }
  return text;
}

}  // namespace quire::train
