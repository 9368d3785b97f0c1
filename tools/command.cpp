#include "tools/command.h"

namespace quire::tools {

void add_json_flag(CLI::App& app) {
  app.add_flag("--json")->description(
      "the last line of stdout is the result as JSON");
}

void add_model_options(CLI::App& app, std::string& model, int& threads) {
  app.add_option("model", model,
                 "a checkpoint, a run's folder (its newest step) or a Hugging "
                 "Face folder")
      ->required();
  app.add_option("--threads", threads, "of a rank; 0: chosen")
      ->check(CLI::Range(0, 1024));
}

void add_set_option(CLI::App& app, std::vector<std::string>& overrides) {
  app.add_option("--set", overrides,
                 "KEY=VALUE in place of the configuration's: zero.stage=2")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
}

}  // namespace quire::tools
