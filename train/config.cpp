#include "quire/train/config.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <iterator>

#include "quire/core/error.h"
#include "quire/core/file_io.h"
#include "quire/train/keys/document.h"
#include "quire/train/keys/model_section.h"

namespace quire::train {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

std::string read_file(const std::filesystem::path& file) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    throw UsageError(fmt::format(
        "{} is a folder; expected a configuration file", file.string()));
  }
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    throw UsageError(
        fmt::format("{} cannot be read: {}; expected a configuration file",
                    file.string(), reason_of(errno)));
  }
  std::string text(kMostBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMostBytes) {
    throw UsageError(
        fmt::format("{} is larger than 16 MiB; expected a configuration file",
                    file.string()));
  }
  return text;
}

std::string why_not(const Key& key, const RunConfig& config) {
  return fmt::format("{} is given, but does not apply to {}; remove it",
                     key.name, misfit(key, config));
}

void read_key(const Key& key, const ConfigDocument& document,
              RunConfig& config) {
  const Json* value = document.find(key.name);
  if (value == nullptr) {
    if (!key.needed || !applies(key, config)) return;
    document.refuse(key.name, fmt::format("{} is missing; expected {}",
                                          key.name, key.expected));
  }
  if (!applies(key, config)) document.refuse(key.name, why_not(key, config));
  const std::string problem = key.set(*value, config);
  if (!problem.empty()) document.refuse(key.name, problem);
  if (key.needed && key.text && value->get<std::string>().empty()) {
    document.refuse(key.name, mismatch(key.name, *value, key.expected));
  }
}

void check_sequence(const ConfigDocument& document, const RunConfig& config) {
  const std::int64_t context = models::context_of(config.model);
  if (config.data.sequence > context) {
    document.refuse("data.sequence",
                    fmt::format("data.sequence is {}; expected at most "
                                "model.context, which is {}",
                                config.data.sequence, context));
  }
}

void check_frozen(const ConfigDocument& document, const RunConfig& config) {
  if (config.freeze.empty()) return;
  try {
    const nn::Model model = make_model(config);
    if (model.trainable_numel() > 0) return;
  } catch (const UsageError& error) {
    document.refuse("model.freeze", fmt::format("model.{}", error.what()));
  }
  document.refuse("model.freeze",
                  "model.freeze matches every parameter; expected one that is "
                  "trained");
}

void check_optimizer(const ConfigDocument& document, const RunConfig& config) {
  const OptimizerConfig& optimizer = config.optimizer;
  if (optimizer.nesterov && optimizer.momentum == 0) {
    document.refuse("optimizer.nesterov",
                    "optimizer.nesterov is true; expected optimizer.momentum "
                    "above 0 with it");
  }
  std::vector<std::string> names;
  if (!optimizer.groups.empty()) {
    const nn::Model model = make_model(config);
    for (const auto& parameter : model.parameters())
      names.push_back(parameter.name);
  }
  try {
    if (!names.empty()) check_rules(engine_options(config, 1).groups, names);
    make_optimizer(optimizer);
    check_schedule(config.schedule);
  } catch (const UsageError& error) {
    document.refuse("optimizer", error.what());
  }
}

void check_evaluation(const ConfigDocument& document, const RunConfig& config) {
  if (config.evaluate_every > 0 && config.data.validation.empty()) {
    document.refuse("evaluate.every",
                    fmt::format("evaluate.every is {}; expected "
                                "data.validation with it",
                                config.evaluate_every));
  }
}

RunConfig config_of(ConfigDocument& document) {
  document.check_names();
  const auto theirs = fill_model(document);
  RunConfig config;
  for (const Key& key : key_table()) read_key(key, document, config);
  config.schedule.steps = config.steps;
  settle_model(document, config);
  if (theirs) check_origin(document, config, *theirs);
  check_frozen(document, config);
  check_sequence(document, config);
  check_optimizer(document, config);
  check_evaluation(document, config);
  return config;
}

// A member of nested objects by its dotted name.
Json& member(Json& tree, const std::string& name) {
  const auto dot = name.find('.');
  if (dot == std::string::npos) return tree[name];
  return tree[name.substr(0, dot)][name.substr(dot + 1)];
}

std::string difference(const Key& key, const Json& checkpoint,
                       const Json& given) {
  const auto text = [](const Json& value) {
    return value.is_null() ? "nothing" : shown(value);
  };
  return fmt::format("{}: checkpoint has {}, configuration has {}", key.name,
                     text(checkpoint), text(given));
}

std::vector<std::string> states_of(const OptimizerConfig& config) {
  return make_optimizer(config)->states();
}

}  // namespace

RunConfig load_config(const std::filesystem::path& file,
                      const std::vector<std::string>& overrides) {
  return parse_config(read_file(file), file.string(), overrides);
}

RunConfig parse_config(const std::string& text, const std::string& name,
                       const std::vector<std::string>& overrides) {
  ConfigDocument document(text, name);
  for (const std::string& assignment : overrides) document.assign(assignment);
  return config_of(document);
}

std::string resolved_json(const RunConfig& config) {
  Json tree = Json::object();
  for (const Key& key : key_table()) {
    Json value = applies(key, config) ? key.get(config) : Json();
    if (!value.is_null()) member(tree, key.name) = std::move(value);
  }
  return tree.dump(2) + "\n";
}

ConfigDifferences compare(const RunConfig& checkpoint, const RunConfig& given) {
  const bool other_states =
      states_of(checkpoint.optimizer) != states_of(given.optimizer);
  ConfigDifferences differences;
  for (const Key& key : key_table()) {
    if (key.on_resume == OnResume::kFree) continue;
    const auto value = [&](const RunConfig& config) {
      return applies(key, config) ? key.get(config) : Json();
    };
    const Json before = value(checkpoint), now = value(given);
    if (before == now) continue;
    const bool refused = key.on_resume == OnResume::kRefused ||
                         (key.on_resume == OnResume::kOfStates && other_states);
    auto& lines = refused ? differences.refused : differences.warned;
    lines.push_back(difference(key, before, now));
  }
  return differences;
}

}  // namespace quire::train
