// The subcommands, one file each.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "tools/output.h"

namespace quire::tools {

// `run` is called once the command line has been read and returns the exit
// code; what it throws is the caller's to report.
struct Command {
  CLI::App* app;
  std::function<int(const Output&)> run;
};

Command train_command(CLI::App& root);
Command run_command(CLI::App& root);
Command plan_command(CLI::App& root);
Command evaluate_command(CLI::App& root);
Command generate_command(CLI::App& root);
Command inspect_command(CLI::App& root);
Command verify_command(CLI::App& root);
Command convert_command(CLI::App& root);
Command tokenize_command(CLI::App& root);

// --json, which every subcommand has.
void add_json_flag(CLI::App& app);
// MODEL and --threads, of what loads a saved model.
void add_model_options(CLI::App& app, std::string& model, int& threads);
// --set, whose values are appended to `overrides`.
void add_set_option(CLI::App& app, std::vector<std::string>& overrides);

}  // namespace quire::tools
