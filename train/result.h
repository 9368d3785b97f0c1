// What runs end with, and how it is written as the one line of --json: dotted
// names are nested objects, a number that is not finite is null.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quire/comm/record.h"
#include "quire/core/allocator.h"

namespace quire::train {

struct TrainResult {
  // The mean over the targets of all lanes, of the last step that was not
  // skipped; NaN if there was none.
  double loss = 0.0;
  std::int64_t steps = 0;    // finished, those before a resume among them
  std::int64_t skipped = 0;  // of this start's steps
  std::optional<std::int64_t> resumed_from;  // the step of the checkpoint
  // Tokens of all ranks, each once, over the time of this start's steps but the
  // first; evaluating and saving take no part. 0 for fewer than two steps.
  double tokens_per_s = 0.0;
  int ranks = 1;
  int stage = 3;
  int wave = 1;  // lanes per rank and wave
  struct Memory {
    std::int64_t predicted_peak_bytes = 0;  // largest over ranks
    std::int64_t measured_peak_bytes = 0;
  } memory;
  comm::Traffic predicted, measured;  // sums over ranks, of this start
  std::uint64_t fingerprint = 0;      // of the state, as a checkpoint has it
  struct Validation {
    double loss = 0.0;
    std::int64_t targets = 0;
  };
  std::optional<Validation> validation;  // the last one
  bool stopped = false;                  // by a signal, after saving
  // Seconds, the longest for which a save kept this start's steps waiting.
  double pause = 0.0;
};

struct EvaluateResult {
  double loss = 0.0;  // mean over the targets
  std::int64_t targets = 0;
  std::vector<std::string> warnings = {};  // about the model; rank 0's
};

struct GenerateResult {
  // Why the text ends: as many tokens as were asked for, or one that ends it.
  enum class End : std::uint8_t { kTokens, kEndOfText };

  std::string text;         // what follows the prompt
  std::int64_t tokens = 0;  // of it
  End end = End::kTokens;
  std::vector<std::string> warnings = {};  // about the model; rank 0's
};

struct PlanReport {
  struct Entry {
    int ranks = 1;
    int stage = 3;
    int wave = 1;         // lanes per rank and wave
    MemoryReport memory;  // predicted, of the rank that needs most
    bool fits = true;     // the budget; true without one
    comm::Traffic step;   // of one step, summed over ranks
    std::string steps;    // the plan, a line per operation; "" if not asked for
  };
  std::optional<std::int64_t> budget_bytes;
  std::vector<Entry> plans;

  bool any_fits() const;
};

std::string to_json(const TrainResult& result);
std::string to_json(const EvaluateResult& result);
std::string to_json(const GenerateResult& result);
std::string to_json(const PlanReport& report);

// For people: a few lines, the last one ended too.
std::string to_text(const TrainResult& result);
std::string to_text(const EvaluateResult& result);
std::string to_text(const PlanReport& report);

}  // namespace quire::train
