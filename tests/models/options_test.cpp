#include "quire/models/options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/golden_llamas.h"
#include "tests/support/tensors.h"

namespace quire::models {
namespace {

using namespace quire::testing;

constexpr Gpt2Options kGpt2 = {
    .layers = 1, .width = 8, .heads = 2, .context = 5, .vocab = 11};

TEST(ModelOptions, SayTheTypeThatMakesThem) {
  EXPECT_EQ(type_of(kGpt2), "gpt2");
  EXPECT_EQ(type_of(LlamaOptions{}), "llama");
  for (const std::string_view type : kTypes)
    EXPECT_EQ(type_of(options_of(type)), type);
  expect_mentions(usage_error_of([] { options_of("bert"); }),
                  {"\"bert\"", "\"gpt2\"", "\"llama\""});
}

TEST(ModelOptions, BuildTheModelOfTheirType) {
  EXPECT_EQ(build(kGpt2).positions()[1].name, "h.0");
  const LlamaOptions llama = golden_llama("qwen3_small").options;
  EXPECT_EQ(build(llama).positions()[1].name, "layers.0");
}

TEST(ModelOptions, SayContextAndVocabulary) {
  EXPECT_EQ(context_of(kGpt2), 5);
  EXPECT_EQ(vocab_of(kGpt2), 11);
  const LlamaOptions llama = golden_llama("qwen3_small").options;
  EXPECT_EQ(context_of(llama), 64);
  EXPECT_EQ(vocab_of(llama), 139);
}

TEST(ModelOptions, AreVisitedByName) {
  std::vector<std::string> names;
  each_field(kGpt2,
             [&](const char* name, const auto&) { names.push_back(name); });
  EXPECT_EQ(names,
            (std::vector<std::string>{"layers", "width", "heads", "context",
                                      "vocab", "dropout", "norm_eps"}));
}

TEST(ModelOptions, AreWrittenThroughTheirVisit) {
  LlamaOptions options = {};
  each_field(options, [](std::string_view name, auto& field) {
    if constexpr (std::same_as<std::int64_t&, decltype(field)>)
      if (name == "window") field = 7;
  });
  EXPECT_EQ(options.window, 7);
}

}  // namespace
}  // namespace quire::models
