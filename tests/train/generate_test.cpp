#include "quire/train/generate.h"

#include <gtest/gtest.h>

#include "tests/train/run_language.h"

namespace quire::train {
namespace {

GenerateResult generate_on(int ranks, const GenerateOptions& options) {
  return on_ranks<GenerateResult>(ranks, [&](comm::Communicator& communicator) {
    return generate(options, communicator);
  });
}

std::string refusal_of(const GenerateOptions& options) {
  const auto world = comm::run_threads(1, {.timeout_s = 20},
                                       [&](comm::Communicator& communicator) {
                                         generate(options, communicator);
                                         return 0;
                                       });
  EXPECT_EQ(world.exit_code, 2);
  return world.failure ? world.failure->message : "";
}

TEST(Generate, GivesTheSameTextOnAnyNumberOfRanks) {
  const TinyRuns tiny(256);
  run(tiny.config());
  for (const double temperature : {0.0, 0.8}) {
    const GenerateOptions options{.model = tiny.path("run"),
                                  .prompt = "abc",
                                  .tokens = 12,
                                  .temperature = temperature};
    const GenerateResult one = generate_on(1, options);
    EXPECT_EQ(one.tokens, 12);
    EXPECT_EQ(one.text.size(), 12u);
    EXPECT_EQ(generate_on(3, options).text, one.text);
  }
}

TEST(Generate, SeesTheLastTokensThatTheContextHolds) {
  const TinyRuns tiny(256);
  run(tiny.config());
  GenerateOptions options{.model = tiny.path("run"), .prompt = "12345678"};
  options.tokens = 4;
  const GenerateResult last = generate_on(1, options);
  options.prompt = "what does not fit, 12345678";
  EXPECT_EQ(generate_on(1, options).text, last.text);
}

TEST(Generate, RefusesNothingToGoOnFrom) {
  const TinyRuns tiny(256);
  run(tiny.config());
  expect_text(refusal_of({.model = tiny.path("run"), .prompt = ""}),
              {"--prompt is empty", "bytes"});
}

TEST(Generate, RefusesWhatItCannotDo) {
  const TinyRuns tiny;
  run(tiny.config());
  const GenerateOptions good{.model = tiny.path("run"), .prompt = "abc"};
  expect_text(refusal_of(good),
              {"vocabulary of 16", "bytes", "tokenizer.json"});
  auto options = good;
  options.temperature = -1;
  expect_text(refusal_of(options), {"temperature is -1"});
  options = good;
  options.model = tiny.path("nowhere");
  expect_text(refusal_of(options), {"nowhere"});
}

}  // namespace
}  // namespace quire::train
