#include "quire/checkpoint/verify.h"

#include <fmt/format.h>

#include "quire/checkpoint/safetensors.h"
#include "quire/convert/convert.h"
#include "quire/core/error.h"
#include "quire/core/hash.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/opened.h"
#include "tools/state_differences.h"

namespace quire::tools {
namespace {

constexpr int kNo = 1;  // the exit code of a check that fails

struct Options {
  std::string path;
  std::string against;
  bool state = false;
};

struct Findings {
  std::vector<std::string> damage;
  std::vector<std::string> differences;
  std::vector<std::string> values;  // how far the first that differ are apart
  std::string fingerprint;          // of a whole checkpoint

  bool good() const { return damage.empty() && differences.empty(); }
};

// Other people's files have no hashes: what can be checked is their format.
std::vector<std::string> damage_of_files(const std::string& path) {
  std::vector<std::string> damage;
  const bool is_llmc = is_llmc_file(path);
  try {
    if (is_llmc) convert::open_weights(path);
  } catch (const UsageError& error) {
    damage.emplace_back(error.what());
  }
  if (is_llmc) return damage;
  for (const std::string& name : safetensors_files(path)) {
    try {
      const checkpoint::SafetensorsFile file(name);
    } catch (const UsageError& error) {
      damage.emplace_back(error.what());
    }
  }
  return damage;
}

std::vector<std::string> damage_of(const std::string& path) {
  if (!is_checkpoint_path(path)) return damage_of_files(path);
  std::vector<std::string> lines;
  for (const auto& each : checkpoint::verify(path))
    lines.push_back(each.message);
  return lines;
}

void compare_checkpoints(const Options& options, Findings& findings) {
  const auto scope =
      options.state ? checkpoint::Scope::kState : checkpoint::Scope::kValues;
  findings.differences =
      checkpoint::compare(options.path, options.against, scope);
  if (!findings.differences.empty())
    findings.values = state_differences(options.path, options.against, scope);
}

// The parameters of two models, as numbers.
void compare_models(const Options& options, Findings& findings) {
  if (options.state)
    throw UsageError(
        "--state is given; expected two checkpoints of Quire with it: other "
        "files hold parameters alone");
  findings.differences =
      convert::compare(*convert::open_weights(options.path),
                       *convert::open_weights(options.against));
}

Findings verify(const Options& options) {
  Findings findings;
  findings.damage = damage_of(options.path);
  const bool is_checkpoint = is_checkpoint_path(options.path);
  const bool both = is_checkpoint && is_checkpoint_path(options.against);
  if (!options.against.empty())
    for (auto& line : damage_of(options.against))
      findings.damage.push_back(std::move(line));
  if (!findings.damage.empty()) return findings;
  if (is_checkpoint)
    findings.fingerprint = to_hex(checkpoint::fingerprint(options.path));
  if (both)
    compare_checkpoints(options, findings);
  else if (!options.against.empty())
    compare_models(options, findings);
  return findings;
}

std::string json_of(const Findings& findings, const Options& options) {
  Json json = {{"whole", findings.damage.empty()}, {"damage", findings.damage}};
  if (!findings.fingerprint.empty()) json["fingerprint"] = findings.fingerprint;
  if (!options.against.empty()) {
    json["equal"] = findings.good();
    json["differences"] = findings.differences;
    json["values"] = findings.values;
  }
  return line_of(json);
}

std::string text_of(const Findings& findings, const Options& options) {
  std::string text;
  for (const std::string& line : findings.damage)
    text += fmt::format("damaged: {}\n", line);
  for (const std::string& line : findings.differences)
    text += fmt::format("differs: {}\n", line);
  for (const std::string& line : findings.values)
    text += fmt::format("values: {}\n", line);
  if (!findings.good()) return text;
  text = fmt::format("{} is whole{}{}\n", options.path,
                     findings.fingerprint.empty() ? "" : ", fingerprint ",
                     findings.fingerprint);
  if (!options.against.empty())
    text += fmt::format("{} is equal\n", options.against);
  return text;
}

int run(const Options& options, const Output& output) {
  if (options.state && options.against.empty()) {
    throw UsageError("--state is given; expected --against PATH with it");
  }
  const Findings findings = verify(options);
  output.result(
      {.json = json_of(findings, options), .text = text_of(findings, options)});
  return findings.good() ? 0 : kNo;
}

}  // namespace

Command verify_command(CLI::App& root) {
  CLI::App* app = root.add_subcommand(
      "verify", "whether a checkpoint is what it was; reads every byte");
  const auto options = std::make_shared<Options>();
  app->add_option("path", options->path,
                  "a checkpoint, a run's folder (its newest step), safetensors "
                  "files or llm.c's .bin")
      ->required();
  app->add_option("--against", options->against,
                  "also whether this model, of any format, has the same "
                  "parameters, bit by bit");
  app->add_flag("--state", options->state,
                "and the same optimizer states, step, position and seed");
  add_json_flag(*app);
  app->footer("Exit code 1: there is damage or a difference.");
  return {app,
          [options](const Output& output) { return run(*options, output); }};
}

}  // namespace quire::tools
