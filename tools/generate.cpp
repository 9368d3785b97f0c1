#include "quire/train/generate.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
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

// A text that is shown while it grows. Its line ends whatever happens, before
// anything else is said.
class GrowingText {
 public:
  GrowingText(const Output& output, const std::string& prompt)
      : output_(output), prompt_(prompt) {}
  ~GrowingText() { end(); }
  GrowingText(const GrowingText&) = delete;
  GrowingText& operator=(const GrowingText&) = delete;

  void show(std::string_view text) {
    if (!begun_) output_.part(prompt_);
    begun_ = true;
    output_.part(text);
  }
  // True if anything was shown.
  bool end() {
    if (begun_ && !ended_) std::puts("");
    ended_ = true;
    return begun_;
  }

 private:
  const Output& output_;
  const std::string& prompt_;
  bool begun_ = false;
  bool ended_ = false;
};

int run(const Options& options, const Output& output) {
  const std::string& prompt = options.generate.prompt;
  const auto work = [&](comm::Communicator& communicator, int) {
    GrowingText growing(output, prompt);
    train::GenerateOptions generate = options.generate;
    if (output.is_watched())
      generate.on_text = [&](std::string_view text) { growing.show(text); };
    const train::GenerateResult result =
        train::generate(generate, communicator);
    const bool shown = growing.end();
    warn_of(result.warnings, communicator);
    return RankReport{
        {.json = to_json(result),
         .text = shown ? std::string() : prompt + result.text + "\n"}};
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
