// Texts by the tokenizer and the end that a model's own files name.
#include "quire/train/detail/language.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "quire/train/generate.h"
#include "tests/convert/model_folder.h"
#include "tests/train/run_language.h"

namespace quire::train {
namespace {

// How byte-level vocabularies spell a byte.
std::string spelled(int byte) {
  const auto shows = [](int b) {
    return (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b != 0xad);
  };
  int code = byte;
  if (!shows(byte)) {
    code = 256;
    for (int before = 0; before < byte; ++before) code += shows(before) ? 0 : 1;
  }
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xc0 | code >> 6),
          static_cast<char>(0x80 | (code & 0x3f))};
}

// Every byte is its own id, and 256 ends a text.
void write_tokenizer(const std::string& folder) {
  nlohmann::json vocabulary = {{"<|endoftext|>", 256}};
  for (int byte = 0; byte < 256; ++byte) vocabulary[spelled(byte)] = byte;
  testing::write_file(folder + "/vocab.json", vocabulary.dump());
  testing::write_file(folder + "/merges.txt", "#version: 0.2\n");
}

GenerateResult generate_on(int ranks, const GenerateOptions& options) {
  return on_ranks<GenerateResult>(ranks, [&](comm::Communicator& communicator) {
    return generate(options, communicator);
  });
}

std::string trained(const TinyRuns& tiny) {
  run(tiny.config());
  return tiny.path("run/step-00000004");
}

TEST(Language, IsThatOfTheFilesBesideTheModel) {
  const TinyRuns tiny(257);
  const std::string model = trained(tiny);
  write_tokenizer(model);
  for (const int ranks : {1, 2}) {
    std::string shown;
    const GenerateResult result = generate_on(
        ranks, {.model = model,
                .prompt = "abc",
                .tokens = 9,
                .on_text = [&](std::string_view text) { shown += text; }});
    EXPECT_EQ(result.tokens, 9);
    EXPECT_EQ(result.end, GenerateResult::End::kTokens);
    EXPECT_EQ(shown, result.text);
  }
}

TEST(Language, EndsATextWhereItsFilesSaySo) {
  const TinyRuns tiny(257);
  const std::string model = trained(tiny);
  write_tokenizer(model);
  const GenerateOptions options{.model = model, .prompt = "abc", .tokens = 9};
  const std::string whole = generate_on(1, options).text;
  const auto end = static_cast<unsigned char>(whole[0]);
  testing::write_file(model + "/generation_config.json",
                      nlohmann::json{{"eos_token_id", {256, end}}}.dump());
  const GenerateResult ended = generate_on(2, options);
  EXPECT_EQ(ended.end, GenerateResult::End::kEndOfText);
  EXPECT_EQ(ended.tokens, 0);
  EXPECT_EQ(ended.text, "");
}

TEST(Language, BeginsATextWithoutAPrompt) {
  const TinyRuns tiny(257);
  const std::string model = trained(tiny);
  write_tokenizer(model);
  testing::write_file(model + "/tokenizer_config.json",
                      R"({"add_bos_token": true})");
  const GenerateOptions options{.model = model, .prompt = "", .tokens = 3};
  EXPECT_EQ(generate_on(1, options).tokens, 3);
}

// It begins with a token that the model does not know.
TEST(Language, BeginsAPromptAsItsFilesSay) {
  const TinyRuns tiny(256);
  const std::string model = trained(tiny);
  write_tokenizer(model);
  const GenerateOptions options{.model = model, .prompt = "abc", .tokens = 1};
  EXPECT_EQ(generate_on(1, options).tokens, 1);
  testing::write_file(model + "/tokenizer_config.json",
                      R"({"add_bos_token": true})");
  const auto world = comm::run_threads(1, {.timeout_s = 20},
                                       [&](comm::Communicator& communicator) {
                                         generate(options, communicator);
                                         return 0;
                                       });
  ASSERT_TRUE(world.failure);
  expect_text(world.failure->message,
              {"the prompt has token 256", "vocabulary is 256"});
}

TEST(Language, OfAModelWithoutATokenizerIsNone) {
  const auto weights = convert::open_weights(testing::data_path("llama_tiny"));
  const std::string refusal = testing::usage_error_of(
      [&] { language_of(weights->description(), weights->path()); });
  expect_text(refusal, {"llama_tiny has a vocabulary of 197",
                        "tokenizer.json, or vocab.json and merges.txt"});
}

TEST(Language, TakesTheEndOfTheConfigurationWithoutAnother) {
  convert::Description description{
      .options =
          models::Gpt2Options{
              .layers = 1, .width = 4, .heads = 1, .context = 4, .vocab = 256},
      .family = "gpt2",
      .other_keys = {{"eos_token_id", "7"}},
      .side_files = {}};
  const Language language = language_of(description, "model");
  EXPECT_EQ(language.tokenizer->name(), "bytes");
  EXPECT_EQ(language.ends, std::vector<std::int32_t>{7});
  description.other_keys.clear();
  EXPECT_TRUE(language_of(description, "model").ends.empty());
}

}  // namespace
}  // namespace quire::train
