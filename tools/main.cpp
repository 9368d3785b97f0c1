// The quire command: which subcommand was meant, and what its end is as an exit
// code.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <string_view>

#include "quire/comm/failure.h"
#include "quire/core/error.h"
#include "quire/core/text.h"
#include "quire/core/version.h"
#include "tools/command.h"
#include "tools/json.h"

namespace quire::tools {
namespace {

// Known before the command line is understood. What follows -- is another
// program's.
Output::Form form_of(int argc, char** argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    if (std::string_view(argv[i]) == "--json") return Output::Form::kJson;
  }
  return Output::Form::kText;
}

int fail(const Output& output, const std::string& message, int exit_code) {
  return output.failure({.message = message, .exit_code = exit_code});
}

// An error before any rank exists.
int guarded(const Command& command, const Output& output) {
  try {
    return command.run(output);
  } catch (const comm::PeerError& error) {
    return output.failure(error.failure());
  } catch (const UsageError& error) {
    return fail(output, error.what(), comm::kUsageExit);
  } catch (const std::exception& error) {
    return fail(output, error.what(), comm::kSystemExit);
  }
}

Result version_result() {
  const BuildInfo info = build_info();
  const Json json = {
      {"version", info.version},     {"commit", info.commit},
      {"compiler", info.compiler},   {"type", info.type},
      {"libraries", info.libraries}, {"compiled_for", info.compiled_for},
      {"processor", info.processor}};
  return {.json = line_of(json), .text = to_string(info)};
}

int tell_version(const Output& output) {
  output.result(version_result());
  return 0;
}

std::string unknown_subcommand(const CLI::App& app, const std::string& name) {
  std::vector<std::string> known;
  for (const CLI::App* each :
       app.get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(each->get_name());
  return fmt::format("there is no subcommand \"{}\"; the nearest is \"{}\"",
                     name, nearest(name, known));
}

// Of words that nothing takes, as they were typed.
std::string problem_of(const CLI::App& app, const CLI::ParseError& error) {
  const auto words = app.remaining(true);
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  if (code != CLI::ExitCodes::ExtrasError || words.empty()) return error.what();
  if (app.get_subcommands().empty() && !words[0].starts_with('-'))
    return unknown_subcommand(app, words[0]);
  return fmt::format("got {}, which is not expected here",
                     fmt::join(words, " "));
}

// Help goes to stdout and is no error.
int end_of_parsing(const CLI::App& app, const CLI::ParseError& error,
                   const Output& output) {
  if (error.get_exit_code() == 0) return app.exit(error);
  const auto chosen = app.get_subcommands();
  const std::string of = chosen.empty() ? "" : " " + chosen[0]->get_name();
  return fail(output,
              fmt::format("{}; see quire{} --help", problem_of(app, error), of),
              comm::kUsageExit);
}

std::vector<Command> add_commands(CLI::App& app) {
  std::vector<Command> commands;
  for (auto add : {train_command, run_command, plan_command, evaluate_command,
                   generate_command, inspect_command, verify_command,
                   convert_command, tokenize_command}) {
    commands.push_back(add(app));
  }
  return commands;
}

// A file must not be opened in the place of a stream that is closed: it would
// get what is printed.
void keep_standard_streams() {
  int opened = 0;
  do {
    opened = open("/dev/null", O_RDONLY);
  } while (opened >= 0 && opened <= STDERR_FILENO);
  if (opened >= 0) close(opened);
}

constexpr const char* kExitCodes =
    "Exit codes:\n"
    "  0   done\n"
    "  1   what was to be checked does not hold\n"
    "  2   something that was given is wrong: a flag, a key, a file\n"
    "  3   a rank, a device or a disk failed\n"
    "  4   the training diverged, or a loss is not finite\n"
    "  75  stopped by SIGTERM or SIGINT, after a save";

int run(int argc, char** argv) {
  CLI::App app("Sharded data-parallel training.", "quire");
  const Output output(form_of(argc, argv));
  bool version = false;
  app.add_flag("--version", version,
               "version, commit, compiler, libraries and instruction set");
  add_json_flag(app);
  app.footer(kExitCodes);
  const std::vector<Command> commands = add_commands(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return end_of_parsing(app, error, output);
  }
  if (version) return guarded({&app, tell_version}, output);
  for (const Command& command : commands) {
    if (command.app->parsed()) return guarded(command, output);
  }
  return fail(output, "no subcommand is given; see quire --help",
              comm::kUsageExit);
}

}  // namespace
}  // namespace quire::tools

int main(int argc, char** argv) {
  quire::tools::keep_standard_streams();
  return quire::tools::run(argc, argv);
}
