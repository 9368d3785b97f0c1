#include <fmt/format.h>

#include "quire/checkpoint/checkpoint.h"
#include "quire/checkpoint/safetensors.h"
#include "quire/core/bytes.h"
#include "quire/core/hash.h"
#include "quire/core/text.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/opened.h"

namespace quire::tools {
namespace {

struct Options {
  std::string path;
  bool tensors = false;
  std::string match;

  bool lists_tensors() const { return tensors || !match.empty(); }
  bool takes(const std::string& name) const {
    return match.empty() || matches_glob(match, name);
  }
};

// A value as people read it.
std::string plain(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return line_of(value);
}

std::string tensor_line(const Json& tensor) {
  std::string line;
  for (const auto& [key, value] : tensor.items())
    line += (line.empty() ? "" : "  ") + plain(value);
  return line + "\n";
}

// Members as lines, files and tensors as tables below.
std::string text_of(const Json& found) {
  std::string text;
  for (const auto& [key, value] : found.items()) {
    if (key == "tensors" || key == "files") continue;
    text += fmt::format("{:<12}{}\n", key, plain(value));
  }
  for (const char* table : {"files", "tensors"}) {
    if (!found.contains(table) || found[table].empty()) continue;
    text += fmt::format("{}\n", table);
    for (const Json& row : found[table]) text += "  " + tensor_line(row);
  }
  return text;
}

Json summary_of(const checkpoint::Checkpoint& saved) {
  const checkpoint::Manifest& manifest = saved.manifest();
  std::int64_t elements = 0, bytes = 0;
  for (const auto& parameter : manifest.parameters)
    elements += parameter.shape.numel();
  for (const auto& file : manifest.files) bytes += file.bytes;
  return {{"format", "quire"},
          {"path", saved.folder()},
          {"step", manifest.progress.step},
          {"updates", manifest.progress.updates},
          {"position", manifest.progress.position},
          {"seed", manifest.progress.seed},
          {"ranks", manifest.ranks},
          {"parameters", manifest.parameters.size()},
          {"elements", elements},
          {"bytes", bytes},
          {"fingerprint", to_hex(manifest.fingerprint())},
          {"kernels", to_hex(manifest.kernels)}};
}

Json files_of(const checkpoint::Manifest& manifest) {
  Json files = Json::array();
  for (const auto& file : manifest.files)
    files.push_back({{"name", file.name}, {"bytes", file.bytes}});
  return files;
}

Json tensors_of(const checkpoint::Manifest& manifest, const Options& options) {
  Json tensors = Json::array();
  for (const auto& parameter : manifest.parameters) {
    if (!options.takes(parameter.name)) continue;
    for (const auto& state : parameter.states) {
      const auto extents = parameter.shape.extents();
      tensors.push_back(
          {{"name", checkpoint::tensor_name(state.kind, parameter.name)},
           {"dtype", std::string(name_of(state.dtype))},
           {"shape", std::vector<std::int64_t>(extents.begin(), extents.end())},
           {"hash", to_hex(state.hash)}});
    }
  }
  return tensors;
}

Json inspect_checkpoint(const Options& options) {
  const auto saved = checkpoint::Checkpoint::open(options.path);
  for (const std::string& line : saved.skipped()) warn(line);
  Json found = summary_of(saved);
  found["files"] = files_of(saved.manifest());
  if (options.lists_tensors())
    found["tensors"] = tensors_of(saved.manifest(), options);
  return found;
}

Json inspect_files(const Options& options) {
  std::int64_t count = 0, elements = 0, bytes = 0;
  Json files = Json::array(), tensors = Json::array();
  for (const std::string& path : safetensors_files(options.path)) {
    const checkpoint::SafetensorsFile file(path);
    files.push_back({{"name", path},
                     {"bytes", file.bytes()},
                     {"metadata", Json(file.metadata())}});
    bytes += file.bytes();
    for (const auto& entry : file.entries()) {
      ++count;
      elements += entry.numel;
      if (!options.takes(entry.name)) continue;
      tensors.push_back({{"name", entry.name},
                         {"dtype", entry.dtype},
                         {"shape", entry.shape}});
    }
  }
  Json found = {{"format", "safetensors"}, {"path", options.path},
                {"parameters", count},     {"elements", elements},
                {"bytes", bytes},          {"files", std::move(files)}};
  if (options.lists_tensors()) found["tensors"] = std::move(tensors);
  return found;
}

int run(const Options& options, const Output& output) {
  const Json found = is_checkpoint_path(options.path)
                         ? inspect_checkpoint(options)
                         : inspect_files(options);
  output.result({.json = line_of(found), .text = text_of(found)});
  return 0;
}

}  // namespace

Command inspect_command(CLI::App& root) {
  CLI::App* app =
      root.add_subcommand("inspect", "what a checkpoint holds, unread");
  const auto options = std::make_shared<Options>();
  app->add_option("path", options->path,
                  "a checkpoint, a run's folder (its newest whole step), a "
                  "Hugging Face folder or a safetensors file")
      ->required();
  app->add_flag("--tensors", options->tensors, "every tensor");
  app->add_option("--match", options->match,
                  "the tensors of parameters whose name matches: '*.bias'");
  add_json_flag(*app);
  return {app,
          [options](const Output& output) { return run(*options, output); }};
}

}  // namespace quire::tools
