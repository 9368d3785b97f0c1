#include <fmt/format.h>

#include "quire/checkpoint/checkpoint.h"
#include "quire/core/error.h"
#include "quire/train/config_keys.h"
#include "quire/train/run.h"
#include "tools/command.h"
#include "tools/ranks.h"

namespace quire::tools {
namespace {

struct Options {
  std::string config;
  std::vector<std::string> overrides;
  std::string out;
  std::string resume = "never";
  RankFlags ranks;
};

train::RunConfig config_of(const Options& options) {
  std::vector<std::string> overrides = options.overrides;
  if (!options.out.empty()) {
    overrides.push_back("output=" + options.out);
  }
  train::RunConfig config = train::load_config(options.config, overrides);
  if (config.output.empty()) {
    throw UsageError(fmt::format(
        "{}: output is missing; expected the run's folder, here or as --out",
        options.config));
  }
  return config;
}

RankReport report_of(const train::TrainResult& result) {
  return {.result = {.json = to_json(result), .text = to_text(result)},
          .exit_code = result.stopped ? train::kStoppedExit : 0};
}

// What is wrong with the folder must not hide what is told of the run.
std::string how_to_go_on(const std::string& folder) {
  try {
    return fmt::format(
        "to go on behind {}: the same command with --resume auto",
        checkpoint::Checkpoint::open(folder).folder());
  } catch (const std::exception&) {
    return {};
  }
}

int run(const Options& options, const Output& output) {
  const train::RunConfig config = config_of(options);
  const auto work = [&](comm::Communicator& communicator, int local_ranks) {
    const auto sink = train::run_sink(config.output);
    return report_of(train::train(
        config, {.resume = options.resume, .local_ranks = local_ranks},
        communicator, *sink));
  };
  return run_ranks({.flags = options.ranks,
                    .timeout_s = config.timeout_s,
                    .work = work,
                    .advice = [&] { return how_to_go_on(config.output); }},
                   output);
}

// For docs/configuration.md.
void print_keys() {
  fmt::print("{}", train::config_markdown());
  throw CLI::Success();
}

}  // namespace

Command train_command(CLI::App& root) {
  CLI::App* app = root.add_subcommand("train", "trains a model");
  const auto options = std::make_shared<Options>();
  app->add_option("config", options->config, "the run's configuration, JSON")
      ->required();
  add_rank_flags(*app, options->ranks);
  add_set_option(*app, options->overrides);
  app->add_option("--out", options->out, "the run's folder");
  app->add_option("--resume", options->resume,
                  "never (the default): the folder must be empty; auto: from "
                  "its newest whole step, if there is one; DIR: from a "
                  "checkpoint or a run's folder");
  app->add_flag_callback("--help-keys", print_keys)->group("");
  add_json_flag(*app);
  app->footer("Keys of the configuration (with their defaults):\n" +
              train::config_help());
  return {app,
          [options](const Output& output) { return run(*options, output); }};
}

}  // namespace quire::tools
