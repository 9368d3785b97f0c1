// A model of Hugging Face in, trained over two ranks, and back.
#include <gtest/gtest.h>

#include "quire/convert/convert.h"
#include "tests/support/texts.h"

namespace quire::testing {
namespace {

const std::string kModel = QUIRE_TEST_DATA "/llama_tiny";

// Every parameter of `a` that is not the same in `b`.
std::size_t differences(const std::string& a, const std::string& b) {
  return convert::compare(*convert::open_weights(a), *convert::open_weights(b))
      .size();
}

TEST(Finetune, HandsBackAFolderThatLoadsAndDiffers) {
  const Texts texts;
  const Ended ended =
      run_program(QUIRE_FINETUNE, {kModel, texts.tokens(), texts.path("out")});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("step 19"), std::string::npos) << ended.out;
  const auto exported = convert::open_weights(texts.path("out/model"));
  EXPECT_EQ(exported->format(), convert::Format::kHuggingFace);
  EXPECT_EQ(exported->description().family, "llama");
  EXPECT_EQ(exported->description().other_keys.at("eos_token_id"), "0");
  EXPECT_TRUE(
      std::filesystem::exists(texts.path("out/model/generation_config.json")));
  EXPECT_EQ(differences(kModel, texts.path("out/model")), 30u);
  EXPECT_EQ(differences(texts.path("out/state"), texts.path("out/model")), 0u);
  const Ended again =
      run_program(QUIRE_FINETUNE, {kModel, texts.tokens(), texts.path("out")});
  EXPECT_EQ(again.code, 2);
  EXPECT_NE(again.err.find("is there already"), std::string::npos) << again.err;
}

TEST(Finetune, SaysWhatIsNoModel) {
  const Texts texts;
  const Ended ended = run_program(
      QUIRE_FINETUNE, {texts.path("none"), texts.tokens(), texts.path("out")});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.err.find("none"), std::string::npos) << ended.err;
}

}  // namespace
}  // namespace quire::testing
