#include "quire/checkpoint/verify.h"

#include <fmt/format.h>

#include "quire/checkpoint/safetensors.h"
#include "quire/core/error.h"
#include "quire/core/hash.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/opened.h"

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
  std::string fingerprint;  // of a whole checkpoint

  bool good() const { return damage.empty() && differences.empty(); }
};

void append(std::vector<std::string>& lines,
            const std::vector<checkpoint::Damage>& damage) {
  for (const auto& each : damage) lines.push_back(each.message);
}

Findings verify_checkpoint(const Options& options) {
  Findings findings;
  append(findings.damage, checkpoint::verify(options.path));
  if (!options.against.empty())
    append(findings.damage, checkpoint::verify(options.against));
  if (!findings.damage.empty()) return findings;
  findings.fingerprint = to_hex(checkpoint::fingerprint(options.path));
  if (!options.against.empty()) {
    findings.differences = checkpoint::compare(
        options.path, options.against,
        options.state ? checkpoint::Scope::kState : checkpoint::Scope::kValues);
  }
  return findings;
}

// Other people's files have no hashes: what can be checked is their format.
Findings verify_files(const Options& options) {
  if (!options.against.empty()) {
    throw UsageError(fmt::format(
        "{} is no checkpoint of Quire; expected one where --against is given",
        options.path));
  }
  Findings findings;
  for (const std::string& path : safetensors_files(options.path)) {
    try {
      const checkpoint::SafetensorsFile file(path);
    } catch (const UsageError& error) {
      findings.damage.emplace_back(error.what());
    }
  }
  return findings;
}

std::string json_of(const Findings& findings, const Options& options) {
  Json json = {{"whole", findings.damage.empty()}, {"damage", findings.damage}};
  if (!findings.fingerprint.empty()) json["fingerprint"] = findings.fingerprint;
  if (!options.against.empty()) {
    json["equal"] = findings.good();
    json["differences"] = findings.differences;
  }
  return line_of(json);
}

std::string text_of(const Findings& findings, const Options& options) {
  std::string text;
  for (const std::string& line : findings.damage)
    text += fmt::format("damaged: {}\n", line);
  for (const std::string& line : findings.differences)
    text += fmt::format("differs: {}\n", line);
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
  const Findings findings = is_checkpoint_path(options.path)
                                ? verify_checkpoint(options)
                                : verify_files(options);
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
                  "a checkpoint, a run's folder (its newest step) or "
                  "safetensors files")
      ->required();
  app->add_option("--against", options->against,
                  "also whether this one has the same parameters, bit by bit");
  app->add_flag("--state", options->state,
                "and the same optimizer states, step, position and seed");
  add_json_flag(*app);
  app->footer("Exit code 1: there is damage or a difference.");
  return {app,
          [options](const Output& output) { return run(*options, output); }};
}

}  // namespace quire::tools
