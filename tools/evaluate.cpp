#include "quire/train/evaluate.h"

#include <fmt/format.h>

#include <cmath>

#include "quire/train/run.h"
#include "tools/command.h"
#include "tools/ranks.h"

namespace quire::tools {
namespace {

struct Options {
  train::EvaluateOptions evaluate;
  RankFlags ranks;
  double timeout_s = 60.0;
};

int run(const Options& options, const Output& output) {
  const auto work = [&](comm::Communicator& communicator, int) {
    const train::EvaluateResult result =
        train::evaluate(options.evaluate, communicator);
    warn_of(result.warnings, communicator);
    const bool finite = std::isfinite(result.loss);
    if (!finite)
      warn_of({fmt::format("the loss is not finite: quire inspect {} --stats "
                           "shows which values are nan or infinite",
                           options.evaluate.model)},
              communicator);
    return RankReport{
        .result = {.json = to_json(result), .text = to_text(result)},
        .exit_code = finite ? 0 : train::kDivergedExit};
  };
  return run_ranks(
      {.flags = options.ranks, .timeout_s = options.timeout_s, .work = work},
      output);
}

}  // namespace

Command evaluate_command(CLI::App& root) {
  CLI::App* app =
      root.add_subcommand("evaluate", "the loss of a model over a whole text");
  const auto options = std::make_shared<Options>();
  add_model_options(*app, options->evaluate.model, options->evaluate.threads);
  app->add_option("--data", options->evaluate.data, "the text's token file")
      ->required();
  app->add_option("--sequence", options->evaluate.sequence,
                  "tokens of a window; by default what the model was trained "
                  "with")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30));
  add_rank_flags(*app, options->ranks);
  add_timeout_option(*app, options->timeout_s);
  add_json_flag(*app);
  return {app,
          [options](const Output& output) { return run(*options, output); }};
}

}  // namespace quire::tools
