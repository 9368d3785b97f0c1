// A run's configuration: JSON with comments allowed, overridden by `--set
// a.b=c`, checked once, written back resolved. Every key stands in one table
// (config_keys.h) that parsing, messages, --help and docs/configuration.md are
// made from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quire/engine/options.h"
#include "quire/models/options.h"
#include "quire/optim/optimizer.h"

namespace quire::train {

// Where a new run's initial values come from, other than its seed.
struct OriginConfig {
  // What convert::open_weights reads; empty: all are drawn.
  std::string from;
  std::vector<std::string> fresh = {};   // patterns of parameters, drawn anew
  std::vector<std::string> ignore = {};  // of tensors there, not wanted
  std::map<std::string, std::string> rename = {};  // a name there: a parameter
};

struct DataConfig {
  std::string train;       // a token file, or a glob of its shards
  std::string validation;  // empty: none
  std::int64_t sequence = 0;
};

struct BatchConfig {
  int lanes = 0;
  std::int64_t lane_samples = 0;
  // Lanes per rank and wave: a number, or kAll, or kAuto (the widest whose plan
  // fits the budget).
  static constexpr int kAll = -1;
  static constexpr int kAuto = 0;
  int wave = kAuto;
};

struct OptimizerConfig {
  std::string type;  // adamw, adam, sgd
  double lr = 0.0;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double momentum = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;
  std::optional<double> clip_norm;
  std::vector<optim::GroupRule> groups;
};

struct RunConfig {
  std::uint64_t seed = 1;
  std::int64_t steps = 0;
  int threads = 0;     // per rank; 0: chosen
  std::string output;  // the run's folder
  models::Options model{};
  OriginConfig origin;
  std::vector<std::string> freeze;  // patterns of parameters
  DataConfig data;
  BatchConfig batch;
  OptimizerConfig optimizer;
  optim::Schedule schedule;  // its steps are the run's
  int stage = 3;
  int prefetch = 0;
  engine::Precision precision;
  std::optional<std::int64_t> budget_bytes;  // of a rank
  // Steps; 0: saves nothing; -1 (left out): at the end alone.
  std::int64_t checkpoint_every = -1;
  int checkpoint_keep = 0;                 // 0: all
  std::int64_t checkpoint_keep_every = 0;  // steps; 0: none besides
  bool checkpoint_async = false;
  enum class WhenBusy : std::uint8_t { kWait, kRefuse };
  WhenBusy checkpoint_when_busy = WhenBusy::kWait;
  // Steps; 0: at the end, if there is validation data.
  std::int64_t evaluate_every = 0;
  std::int64_t log_every = 10;
  double timeout_s = 60.0;
};

// Reads `file` and applies overrides ("zero.stage=2") in their order.
// UsageError names the file, the line for a syntax error, else the dotted key,
// what it holds, what is expected; an unknown key is refused with the nearest
// one.
RunConfig load_config(const std::filesystem::path& file,
                      const std::vector<std::string>& overrides);
// The same from JSON text; `name` stands for the file in messages.
RunConfig parse_config(const std::string& text, const std::string& name,
                       const std::vector<std::string>& overrides);
// All keys with their values, as JSON that parse_config reads back to the same.
std::string resolved_json(const RunConfig& config);

// What the engine takes of it. `wave` is a number of lanes by now.
engine::Options engine_options(const RunConfig& config, int wave);
std::unique_ptr<optim::Optimizer> make_optimizer(const OptimizerConfig& config);
nn::Model make_model(const RunConfig& config);

// Keys whose difference makes a resume another run (seed, model.*, data
// content, batch.lanes, batch.lane_samples, precision.*): a line "key:
// checkpoint has X, configuration has Y" for each; and those that only warn
// (optimizer, schedule, steps).
struct ConfigDifferences {
  std::vector<std::string> refused;
  std::vector<std::string> warned;
};
ConfigDifferences compare(const RunConfig& checkpoint, const RunConfig& given);

}  // namespace quire::train
