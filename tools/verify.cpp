#include "quire/checkpoint/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "quire/checkpoint/files.h"
#include "quire/checkpoint/run_folder.h"
#include "quire/checkpoint/safetensors.h"
#include "quire/comm/failure.h"
#include "quire/convert/convert.h"
#include "quire/core/error.h"
#include "quire/core/file_io.h"
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
  std::vector<std::string> unread;  // what cannot be read may be whole
  std::vector<std::string> differences;
  std::vector<std::string> values;  // how far the first that differ are apart
  std::string fingerprint;          // of a whole checkpoint
  int why_unread = 0;               // as an exit code

  bool whole() const { return damage.empty() && unread.empty(); }
  bool good() const { return whole() && differences.empty(); }
  // What is known to be wrong first.
  int exit_code() const {
    return damage.empty() && differences.empty() ? why_unread : kNo;
  }
};

void check_checkpoint(const std::string& path, Findings& findings) {
  using Kind = checkpoint::Damage::Kind;
  for (const auto& [kind, message] : checkpoint::verify(path)) {
    const bool read = kind == Kind::kFormat || kind == Kind::kHash;
    (read ? findings.damage : findings.unread).push_back(message);
    if (kind == Kind::kForbidden)
      findings.why_unread = std::max(findings.why_unread, comm::kUsageExit);
    if (kind == Kind::kUnread) findings.why_unread = comm::kSystemExit;
  }
}

// Nothing is known of what may not be read.
void require_allowed(const std::string& path) {
  if (is_forbidden(path))
    throw UsageError(
        fmt::format("{} cannot be read: {}", path, reason_of(EACCES)));
}

// What `open` finds wrong with a file is damage.
template <class Open>
bool guarded(const std::string& file, Findings& findings, const Open& open) {
  require_allowed(file);
  try {
    open();
    return true;
  } catch (const UsageError& error) {
    findings.damage.emplace_back(error.what());
    return false;
  }
}

// Other people's files have no hashes: what can be checked is their format. The
// first that cannot be read is an error.
void check_files(const std::string& path, Findings& findings) {
  require_allowed(path);
  if (is_llmc_file(path)) {
    guarded(path, findings, [&] { convert::open_weights(path); });
    return;
  }
  const std::string index = checkpoint::joined(path, convert::kIndexName);
  const auto follow = [&] { convert::weight_file_names(path); };
  if (!guarded(index, findings, follow)) return;
  bool opened = true;
  for (const std::string& file : safetensors_files(path))
    opened &= guarded(file, findings,
                      [&] { const checkpoint::SafetensorsFile whole(file); });
  if (opened)
    guarded(index, findings, [&] { convert::check_weight_index(path); });
}

void check_whole(const std::string& path, Findings& findings) {
  is_checkpoint_path(path) ? check_checkpoint(path, findings)
                           : check_files(path, findings);
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
  check_whole(options.path, findings);
  const bool is_checkpoint = is_checkpoint_path(options.path);
  const bool both = is_checkpoint && is_checkpoint_path(options.against);
  if (!options.against.empty()) check_whole(options.against, findings);
  if (!findings.whole()) return findings;
  if (is_checkpoint)
    findings.fingerprint = to_hex(checkpoint::fingerprint(options.path));
  if (both)
    compare_checkpoints(options, findings);
  else if (!options.against.empty())
    compare_models(options, findings);
  return findings;
}

std::string json_of(const Findings& findings, const Options& options) {
  const bool known = findings.whole() || !findings.damage.empty();
  Json json = {{"whole", known ? Json(findings.whole()) : Json()},
               {"damage", findings.damage},
               {"unread", findings.unread}};
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
  for (const std::string& line : findings.unread)
    text += fmt::format("unread: {}\n", line);
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

// Of a run's folder the same step for all that is said of it: a run that goes
// on may save and remove others meanwhile.
std::string settled(const std::string& path) {
  return is_checkpoint_path(path) ? checkpoint::step_or_newest(path) : path;
}

int run(const Options& given, const Output& output) {
  if (given.state && given.against.empty()) {
    throw UsageError("--state is given; expected --against PATH with it");
  }
  const Options options = {.path = settled(given.path),
                           .against = settled(given.against),
                           .state = given.state};
  const Findings findings = verify(options);
  output.result(
      {.json = json_of(findings, options), .text = text_of(findings, options)});
  return findings.exit_code();
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
  app->footer(
      "Exit code 1: there is damage or a difference; 2 or 3: neither is known, "
      "as a file may not or cannot be read.");
  return {app,
          [options](const Output& output) { return run(*options, output); }};
}

}  // namespace quire::tools
