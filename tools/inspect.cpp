#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "quire/core/bytes.h"
#include "quire/core/error.h"
#include "quire/core/text.h"
#include "tools/command.h"
#include "tools/listing.h"
#include "tools/opened.h"
#include "tools/progress.h"
#include "tools/statistics.h"
#include "tools/tree.h"

namespace quire::tools {
namespace {

// Elements that are read at once; whole tiles.
constexpr std::int64_t kBlock = std::int64_t{1} << 20;

struct Options {
  std::string path;
  bool tensors = false;
  bool stats = false;
  std::string match;

  bool lists_tensors() const { return tensors || stats || !match.empty(); }
  bool takes(const std::string& name) const {
    return match.empty() || matches_glob(match, name);
  }
};

Listing listing_of(const std::string& path) {
  if (is_checkpoint_path(path)) return list_checkpoint(path);
  return is_llmc_file(path) ? list_llmc(path) : list_safetensors(path);
}

Json json_of(const Statistics& found) {
  return {{"min", found.min()},      {"max", found.max()},
          {"mean", found.mean()},    {"std", found.deviation()},
          {"norm", found.norm()},    {"nan", found.nan()},
          {"inf", found.infinite()}, {"zero", found.zero()}};
}

// Null for a type whose elements are no numbers to this.
Json statistics_of(const ListedTensor& tensor) {
  if (!Statistics::reads(tensor.type)) return {};
  Statistics found;
  std::vector<std::byte> block;
  for (std::int64_t at = 0; at < tensor.elements; at += kBlock) {
    const std::int64_t count = std::min(kBlock, tensor.elements - at);
    block.resize(
        static_cast<std::size_t>(count * (tensor.bytes / tensor.elements)));
    tensor.read(at, block);
    found.add(tensor.type, block);
  }
  return json_of(found);
}

Json holders_of(const ListedTensor& tensor) {
  Json held = Json::array();
  for (const HeldRange& range : tensor.held)
    held.push_back(
        {{"file", range.file}, {"first", range.first}, {"count", range.count}});
  return held;
}

Json tensors_of(const Listing& listing, const Options& options) {
  std::int64_t total = 0, done = 0;
  for (const auto& tensor : listing.tensors) total += tensor.bytes;
  Progress progress("reading", total);
  Json tensors = Json::array();
  for (const auto& tensor : listing.tensors) {
    done += tensor.bytes;
    if (!options.takes(tensor.place)) continue;
    Json row = {{"name", tensor.name},
                {"dtype", tensor.dtype},
                {"shape", tensor.shape}};
    if (!tensor.hash.empty()) row["hash"] = tensor.hash;
    row["bytes"] = tensor.bytes;
    row["held"] = holders_of(tensor);
    if (options.stats) row["stats"] = statistics_of(tensor);
    tensors.push_back(std::move(row));
    if (options.stats) progress.show(done);
  }
  return tensors;
}

Json tree_of(const Listing& listing) {
  Tree tree;
  for (const auto& tensor : listing.tensors)
    tree.add(tensor.place, tensor.elements, tensor.bytes);
  Json rows = Json::array();
  for (const Tree::Row& row : tree.rows())
    rows.push_back({{"name", row.name},
                    {"depth", row.depth},
                    {"tensors", row.tensors},
                    {"elements", row.elements},
                    {"bytes", row.bytes}});
  return rows;
}

// A value as people read it.
std::string plain(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return line_of(value);
}

std::string file_line(const Json& file) {
  std::string line = "  ";
  for (const auto& [key, value] : file.items()) line += plain(value) + "  ";
  return line.substr(0, line.size() - 2) + "\n";
}

std::string tree_line(const Json& row) {
  const auto indent = 2 + 2 * row["depth"].get<int>();
  return fmt::format("{:{}}{:<{}}{:>16}{:>16} elements{:>12}\n", "", indent,
                     plain(row["name"]), 42 - indent,
                     counted(row["tensors"].get<std::int64_t>(), "tensor"),
                     row["elements"].get<std::int64_t>(),
                     format_bytes(row["bytes"].get<std::int64_t>()));
}

std::string statistics_line(const Json& stats) {
  if (stats.is_null()) return "    no statistics of this type\n";
  std::string line = "   ";
  for (const auto& [key, value] : stats.items())
    line += fmt::format(" {} {}", key, plain(value));
  return line + "\n";
}

std::string tensor_lines(const Json& tensor) {
  std::string text =
      fmt::format("  {}  {}  {}  {}\n", plain(tensor["name"]),
                  plain(tensor["dtype"]), plain(tensor["shape"]),
                  format_bytes(tensor["bytes"].get<std::int64_t>()));
  for (const Json& range : tensor["held"]) {
    const auto first = range["first"].get<std::int64_t>();
    text += fmt::format("    [{}, {}) in {}\n", first,
                        first + range["count"].get<std::int64_t>(),
                        plain(range["file"]));
  }
  if (tensor.contains("stats")) text += statistics_line(tensor["stats"]);
  return text;
}

// Members as lines, files, layers and tensors as tables below.
std::string text_of(const Json& found) {
  std::string text;
  const auto table = [&](const char* name, std::string (*line)(const Json&)) {
    if (!found.contains(name) || found[name].empty()) return;
    text += fmt::format("{}\n", name);
    for (const Json& row : found[name]) text += line(row);
  };
  for (const auto& [key, value] : found.items())
    if (!value.is_array()) text += fmt::format("{:<12}{}\n", key, plain(value));
  table("files", file_line);
  table("layers", tree_line);
  table("tensors", tensor_lines);
  return text;
}

// A mistyped pattern must not be a tensor that is not there.
void require_match(const Listing& listing, const Options& options) {
  std::vector<std::string> names;
  for (const auto& tensor : listing.tensors) {
    if (options.takes(tensor.place)) return;
    names.push_back(tensor.place);
  }
  if (options.match.empty()) return;
  throw UsageError(fmt::format(
      "--match \"{}\" matches no parameter of {}; the nearest is \"{}\"",
      options.match, options.path, nearest(options.match, names)));
}

int run(const Options& options, const Output& output) {
  const Listing listing = listing_of(options.path);
  require_match(listing, options);
  for (const std::string& line : listing.warnings) warn(line);
  Json found = listing.summary;
  found["files"] = listing.files;
  found["layers"] = tree_of(listing);
  if (options.lists_tensors()) found["tensors"] = tensors_of(listing, options);
  output.result({.json = line_of(found), .text = text_of(found)});
  return 0;
}

}  // namespace

Command inspect_command(CLI::App& root) {
  CLI::App* app = root.add_subcommand(
      "inspect", "what a checkpoint holds; reads values for --stats alone");
  const auto options = std::make_shared<Options>();
  app->add_option("path", options->path,
                  "a checkpoint, a run's folder (its newest whole step), a "
                  "folder of safetensors files, one of them, or llm.c's .bin")
      ->required();
  app->add_flag("--tensors", options->tensors,
                "every tensor, and which file holds which elements of it");
  app->add_flag("--stats", options->stats,
                "the same, with smallest, largest and mean value, standard "
                "deviation, norm, and how many are NaN, infinite and zero");
  app->add_option("--match", options->match,
                  "the tensors of parameters whose name matches: '*.bias'");
  add_json_flag(*app);
  return {app,
          [options](const Output& output) { return run(*options, output); }};
}

}  // namespace quire::tools
