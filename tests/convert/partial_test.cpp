// Files that hold less than their model, or more, or under other names.
#include <gtest/gtest.h>

#include "tests/convert/model_folder.h"
#include "tests/support/parameters.h"

namespace quire::convert {
namespace {

using testing::ModelFolder;

std::vector<std::string> names_of(const Weights& weights) {
  std::vector<std::string> names;
  for (const auto& parameter : weights.parameters())
    names.push_back(parameter.name);
  return names;
}

std::unique_ptr<const Weights> open_part(const ModelFolder& files,
                                         const OpenOptions& options = {
                                             .config = {},
                                             .partial = true,
                                             .rename = {}}) {
  files.save("model.safetensors", files.tensors);
  return open_weights(files.folder.path(), options);
}

TEST(PartialWeights, ListWhatIsThereAndThenTheRest) {
  ModelFolder files;
  const auto whole = names_of(*files.open());
  files.tensors.erase("transformer.wte.weight");
  files.tensors["score.weight"] = testing::zeros({2, 36});
  files.tensors["transformer.ln_f.bias"] = testing::zeros({7});
  const auto part = open_part(files);
  auto expected = whole;
  std::erase(expected, "embed.wte.weight");
  expected.emplace_back("score.weight");
  EXPECT_EQ(names_of(*part), expected);
  EXPECT_EQ(stored(*part, "head.ln_f.bias").shape, (Shape{7}));
  EXPECT_EQ(stored(*part, "score.weight").shape, (Shape{2, 36}));
}

TEST(PartialWeights, ArePassedOverWhereNoParameterCanBeThem) {
  ModelFolder files;
  files.tensors["counts"] = testing::ids_of({1, 2}, {2});
  const auto part = open_part(files);
  ASSERT_EQ(part->warnings().size(), 1u);
  EXPECT_NE(part->warnings()[0].find("counts is of type I32"),
            std::string::npos);
}

TEST(PartialWeights, ReadAsTheParameterThatTheyAreRenamedTo) {
  ModelFolder files;
  const auto golden = files.open();
  auto moved = files.tensors.extract("transformer.h.1.attn.c_attn.weight");
  moved.key() = "qkv";
  files.tensors.insert(std::move(moved));
  const std::string name = "h.1.attn.c_attn.weight";
  const auto renamed = open_part(
      files, {.config = {}, .partial = false, .rename = {{"qkv", name}}});
  testing::expect_same_bits(testing::whole(*renamed, name),
                            testing::whole(*golden, name));
}

// Two sources of one name, of which the parameter's own is not wanted.
TEST(PartialWeights, MakeWayForOneThatIsRenamedIfTheyAreIgnored) {
  ModelFolder files;
  const auto whole = names_of(*files.open());
  files.tensors["score"] = testing::zeros({36});
  const std::string name = "head.ln_f.bias";
  const OpenOptions twice = {
      .config = {}, .partial = true, .rename = {{"score", name}}};
  EXPECT_NE(testing::usage_error_of([&] {
              open_part(files, twice);
            }).find("holds \"ln_f.bias\" twice"),
            std::string::npos);
  for (const std::string ignored : {"transformer.ln_f.bias", "head.ln_?.*s"}) {
    OpenOptions options = twice;
    options.ignore = {ignored};
    const auto part = open_part(files, options);
    EXPECT_EQ(names_of(*part), whole);
    EXPECT_EQ(part->made_way()[0], ignored == "head.ln_?.*s" ? name : ignored);
    testing::expect_same_bits(testing::whole(*part, name),
                              testing::zeros({36}));
  }
}

TEST(PartialWeights, RefuseANameThatIsNotThere) {
  const ModelFolder files;
  EXPECT_NE(testing::usage_error_of([&] {
              open_part(files, {.config = {},
                                .partial = true,
                                .rename = {{"lm_haed.weight", "x"}}});
            }).find("holds no tensor \"lm_haed.weight\" to rename"),
            std::string::npos);
}

}  // namespace
}  // namespace quire::convert
