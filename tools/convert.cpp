#include "quire/convert/convert.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <optional>

#include "quire/core/bytes.h"
#include "quire/core/error.h"
#include "tools/command.h"
#include "tools/interrupts.h"
#include "tools/json.h"
#include "tools/progress.h"

namespace quire::tools {
namespace {

using convert::Converted;
using convert::ConvertOptions;
using convert::Format;

struct Options {
  std::string from, out;
  std::string to;
  std::string dtype;
  std::string max_shard;
  int shards = 1;
  std::string config;
  bool state = false;
};

constexpr std::array kFormats = {Format::kQuire, Format::kHuggingFace,
                                 Format::kDcp, Format::kLlmc, Format::kGguf};

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format format : kFormats) names.emplace_back(name_of(format));
  return names;
}

ConvertOptions convert_options(const Options& options) {
  ConvertOptions result{.to = Format::kQuire, .shards = options.shards};
  for (const Format format : kFormats)
    if (options.to == name_of(format)) result.to = format;
  if (!options.dtype.empty()) result.dtype = parse_dtype(options.dtype);
  if (!options.max_shard.empty())
    result.max_shard_bytes = parse_bytes(options.max_shard);
  return result;
}

// A bar from the first report on, where a signal may end the work, too.
class Bar {
 public:
  convert::ConvertProgress teller() {
    return [this](std::int64_t done, std::int64_t total) {
      Interrupts::check();
      if (!bar_) bar_.emplace("converting", total);
      bar_->show(done);
    };
  }

 private:
  std::optional<Progress> bar_;
};

// The model's own counts before the one that was named.
bool needs_config(const convert::Weights& weights) {
  std::error_code ignored;
  return weights.format() == Format::kDcp &&
         !std::filesystem::exists(weights.path() + "/config.json", ignored);
}

Converted converted(const Options& options) {
  Bar bar;
  const ConvertOptions how = convert_options(options);
  if (options.state)
    return convert_state(options.from, options.out, how, bar.teller());
  const auto weights =
      convert::open_weights(options.from, {.config = options.config});
  Converted done = convert::convert(*weights, options.out, how, bar.teller());
  done.warnings.insert(done.warnings.begin(), weights->warnings().begin(),
                       weights->warnings().end());
  if (!options.config.empty() && !needs_config(*weights))
    done.warnings.push_back(
        fmt::format("--config {} is not read: {} has its own", options.config,
                    options.from));
  return done;
}

int run(const Options& options, const Output& output) {
  if (options.state && !options.config.empty())
    throw UsageError("--config is given; a whole state has its own");
  const Converted done =
      unless_stopped(options.out, [&] { return converted(options); });
  for (const std::string& line : done.warnings) warn(line);
  const Json json = {{"out", options.out},
                     {"format", options.to},
                     {"parameters", done.parameters},
                     {"bytes", done.bytes},
                     {"warnings", done.warnings}};
  output.result(
      {.json = line_of(json),
       .text = fmt::format("{}: {} parameters, {}\n", options.out,
                           done.parameters, format_bytes(done.bytes))});
  return 0;
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("in", options.from,
                 "a checkpoint, a run's folder (its newest step), a Hugging "
                 "Face or PyTorch DCP folder, or llm.c's .bin")
      ->required();
  app.add_option("out", options.out,
                 "the folder or file to make; must not exist")
      ->required();
  app.add_option("--to", options.to, "its format")
      ->required()
      ->check(CLI::IsMember(format_names()));
  app.add_option("--dtype", options.dtype, "of the values; as stored if absent")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}));
  app.add_option("--max-shard", options.max_shard,
                 "most bytes of a file of hf: 5GiB");
  app.add_option("--shards", options.shards, "files of dcp and quire")
      ->check(CLI::Range(1, 99999));
  app.add_option("--config", options.config,
                 "the config.json of a DCP folder that has none");
  app.add_flag("--state", options.state,
               "a checkpoint's optimizer states, step and seed as well");
}

}  // namespace

Command convert_command(CLI::App& root) {
  CLI::App* app = root.add_subcommand(
      "convert", "a model from one ecosystem's files to another's");
  const auto options = std::make_shared<Options>();
  add_options(*app, *options);
  add_json_flag(*app);
  return {app,
          [options](const Output& output) { return run(*options, output); }};
}

}  // namespace quire::tools
