#include "quire/train/generate.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include "tools/command.h"
#include "tools/ranks.h"

namespace quire::tools {
namespace {

struct Options {
  train::GenerateOptions generate;
  RankFlags ranks;
  double timeout_s = 60.0;
};

int run(const Options& options, const Output& output) {
  train::GenerateOptions generate = options.generate;
  generate.on_text = [&](std::string_view text) { output.part(text); };
  const auto work = [&](comm::Communicator& communicator, int) {
    const train::GenerateResult result =
        train::generate(generate, communicator);
    warn_of(result.warnings, communicator);
    return RankReport{{.json = to_json(result), .text = "\n"}};
  };
  return run_ranks(
      {.flags = options.ranks, .timeout_s = options.timeout_s, .work = work},
      output);
}

// CLI11 reads -1 as 2^64 - 1, and what does not fit as the largest that does.
std::string refusal_of_seed(const std::string& text) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seed);
  if (error == std::errc() && stop == end) return {};
  return fmt::format("Value {} not in range 0 to {}", text, kMost);
}

void add_sampling_options(CLI::App& app, train::GenerateOptions& options) {
  const CLI::Range count(std::int64_t{0}, std::int64_t{1} << 30);
  app.add_option("--tokens", options.tokens, "to write; 64 by default")
      ->check(count);
  app.add_option("--temperature", options.temperature,
                 "0 (the default): always the likeliest");
  app.add_option("--top-k", options.top_k,
                 "among the k likeliest; 0 (the default): among all")
      ->check(count);
  app.add_option("--seed", options.seed, "of the choices; 1 by default")
      ->check(refusal_of_seed);
}

}  // namespace

Command generate_command(CLI::App& root) {
  CLI::App* app = root.add_subcommand("generate", "text from a model");
  const auto options = std::make_shared<Options>();
  add_model_options(*app, options->generate.model, options->generate.threads);
  app->add_option("--prompt", options->generate.prompt, "what it goes on from")
      ->required();
  add_sampling_options(*app, options->generate);
  add_rank_flags(*app, options->ranks);
  add_timeout_option(*app, options->timeout_s);
  add_json_flag(*app);
  return {app,
          [options](const Output& output) { return run(*options, output); }};
}

}  // namespace quire::tools
