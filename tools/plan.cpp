#include "quire/train/plan.h"

#include <fmt/format.h>

#include <charconv>

#include "tools/command.h"

namespace quire::tools {
namespace {

struct Options {
  std::string config;
  std::vector<std::string> overrides;
  std::string budget;
  train::PlanOptions plan;
};

constexpr int kNothingFits = 1;
constexpr int kMostPlannedRanks = 1024;

// "1,2,4". CLI11 would take an empty place for none.
std::vector<int> counts_of(const std::string& text) {
  std::vector<int> counts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto comma = std::min(text.find(',', begin), text.size());
    int count = 0;
    const char* end = text.data() + comma;
    const auto [stop, error] = std::from_chars(text.data() + begin, end, count);
    if (error != std::errc() || stop != end || count < 1 ||
        count > kMostPlannedRanks)
      throw CLI::ValidationError(
          "-n", fmt::format("{} is no list of numbers from 1 to {}; expected "
                            "one such as 1,2,4",
                            text.empty() ? "\"\"" : text, kMostPlannedRanks));
    counts.push_back(count);
    begin = comma + 1;
  }
  return counts;
}

int run(const Options& options, const Output& output) {
  std::vector<std::string> overrides = options.overrides;
  if (!options.budget.empty()) {
    overrides.push_back("memory.budget=" + options.budget);
  }
  const train::PlanReport report =
      train::plan(train::load_config(options.config, overrides), options.plan);
  std::string json = to_json(report);
  if (options.plan.steps) json = to_text(report) + json;
  output.result({.json = json, .text = to_text(report)});
  return report.any_fits() ? 0 : kNothingFits;
}

}  // namespace

Command plan_command(CLI::App& root) {
  CLI::App* app = root.add_subcommand(
      "plan", "says what a run needs in memory and sends, before it runs");
  const auto options = std::make_shared<Options>();
  app->add_option("config", options->config, "the run's configuration, JSON")
      ->required();
  app->add_option_function<std::string>(
         "-n",
         [options](const std::string& text) {
           options->plan.ranks = counts_of(text);
         },
         "numbers of ranks: 1,2,4,8")
      ->type_name("INT,...");
  app->add_option("--budget", options->budget,
                  "memory of a rank, in place of the configuration's: 24MiB; "
                  "exit code 1 if no plan fits");
  app->add_flag("--steps", options->plan.steps, "every operation of a step");
  add_set_option(*app, options->overrides);
  add_json_flag(*app);
  return {app,
          [options](const Output& output) { return run(*options, output); }};
}

}  // namespace quire::tools
