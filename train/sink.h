// Where a run's story goes: rank 0 tells it as events, sinks write them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace quire::train {

struct RunEvent {               // the first of a start, a resumed one too
  std::string resolved_config;  // JSON
  int ranks;
  int threads;  // of a rank
  int wave;
  std::int64_t steps;                        // of the run
  std::int64_t predicted_peak_bytes;         // of the rank that needs most
  std::optional<std::int64_t> resumed_from;  // step of the checkpoint
};

struct StepEvent {
  std::int64_t step;  // finished steps, this one among them
  double loss;        // the mean over the targets of all lanes
  double norm;        // global, before clipping
  double lr;          // the base rate times the schedule
  double seconds;
  double tokens_per_s;  // of all ranks
  std::string skipped;  // why nothing was updated; "" otherwise
  bool logged;          // due by log.every, or skipped, or the last
};

struct EvaluationEvent {
  std::int64_t step;
  double loss;  // the mean over the targets of the whole validation text
  std::int64_t targets;
  double seconds;
};

struct SaveEvent {
  std::int64_t step;
  std::string path;
  double seconds;  // from when it was due until it was published
  double pause;    // seconds of them in which no step could run
};

struct MessageEvent {
  enum class Level : std::uint8_t { kInfo, kWarning };
  Level level;
  std::string text;
};

using Event =
    std::variant<RunEvent, StepEvent, EvaluationEvent, SaveEvent, MessageEvent>;

// Used by one thread: rank 0's.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(const Event& event) = 0;
};

// metrics.jsonl in `folder`, which exists when the first event comes: a JSON
// object per line, appended. Throws SystemError naming the file.
std::unique_ptr<Sink> json_lines_sink(std::filesystem::path folder);
// stderr: a line per event, and below it a progress bar if it is a terminal.
std::unique_ptr<Sink> console_sink();
// Both: what `quire train` uses.
std::unique_ptr<Sink> run_sink(std::filesystem::path folder);

}  // namespace quire::train
