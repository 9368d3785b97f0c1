#include "quire/comm/run.h"

#include <fmt/format.h>

#include "tools/command.h"
#include "tools/ranks.h"

namespace quire::tools {
namespace {

int run(const comm::CommandOptions& options, const Output& output) {
  const comm::RunResult run = comm::run_command(options);
  if (run.failure) return output.failure(*run.failure);
  output.result({.json = fmt::format("{{\"ranks\": {}, \"exit\": {}}}",
                                     options.ranks, run.exit_code),
                 .text = ""});
  return run.exit_code;
}

}  // namespace

Command run_command(CLI::App& root) {
  CLI::App* app = root.add_subcommand(
      "run", "starts the ranks of any program on this host");
  const auto options = std::make_shared<comm::CommandOptions>();
  app->add_option("-n", options->ranks, "processes to start")
      ->required()
      ->check(CLI::Range(1, kMostLocalRanks));
  app->add_option("program", options->command, "after --: program, arguments")
      ->required();
  add_json_flag(*app);
  return {app,
          [options](const Output& output) { return run(*options, output); }};
}

}  // namespace quire::tools
