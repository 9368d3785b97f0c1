#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "quire/convert/detail/writers.h"
#include "quire/models/options.h"
#include "tests/convert/model_folder.h"

namespace quire::convert {
namespace {

using namespace quire::testing;

ConvertOptions to_hugging_face(std::int64_t most = std::int64_t{1} << 40) {
  return {.to = Format::kHuggingFace, .max_shard_bytes = most};
}

// Values = element + 1000 * parameter, from no file.
class CountingWeights : public Weights {
 public:
  explicit CountingWeights(Description description)
      : description_(std::move(description)) {
    const nn::Model model = models::build(description_.options);
    for (const auto& parameter : model.parameters())
      parameters_.push_back({parameter.name, parameter.shape, DType::kF32});
  }
  Format format() const override { return Format::kQuire; }
  const std::string& path() const override { return path_; }
  const Description& description() const override { return description_; }
  std::span<const StoredParameter> parameters() const override {
    return parameters_;
  }
  std::span<const std::string> warnings() const override { return {}; }
  void read(std::string_view parameter, std::int64_t first,
            std::span<std::byte> out) const override {
    const auto id = &stored(*this, parameter) - parameters_.data();
    auto* values = reinterpret_cast<float*>(out.data());
    for (std::size_t i = 0; i < out.size() / sizeof(float); ++i)
      values[i] =
          static_cast<float>(first + static_cast<std::int64_t>(i) + 1000 * id);
  }

 private:
  std::string path_ = "nowhere";
  Description description_;
  std::vector<StoredParameter> parameters_;
};

std::unique_ptr<const Weights> there_and_back(const Weights& weights,
                                              const TempFolder& folder,
                                              const ConvertOptions& options) {
  write_hugging_face(weights, folder.path(), options, {});
  return open_weights(folder.path());
}

TEST(HuggingFaceWriter, WritesTheFilesOfTransformersByteForByte) {
  for (const char* name : {"gpt2_tiny", "llama_tiny", "llama3_small",
                           "mistral_small", "qwen2_small", "qwen3_small"}) {
    const TempFolder out;
    write_hugging_face(*open_weights(data_path(name)), out.path(),
                       to_hugging_face(), {});
    EXPECT_EQ(read_file(out / "model.safetensors"),
              read_file(data_path(std::string(name) + "/model.safetensors")))
        << name;
    EXPECT_EQ(
        read_file(out / "generation_config.json"),
        read_file(data_path(std::string(name) + "/generation_config.json")));
  }
}

TEST(HuggingFaceWriter, EveryValueOfEveryTensorOfAModelMadeHereArrives) {
  for (const auto& [name, most] :
       {std::pair{"llama_tiny", std::int64_t{1} << 40},
        std::pair{"gpt2_tiny", std::int64_t{1024}}}) {
    const CountingWeights weights(open_weights(data_path(name))->description());
    const TempFolder out;
    const auto again = there_and_back(weights, out, to_hugging_face(most));
    EXPECT_TRUE(again->warnings().empty());
    expect_same_weights(*again, weights);
    for (const auto& entry : again->parameters())
      EXPECT_GT(entry.shape.numel(), 0) << entry.name;
    EXPECT_EQ(std::filesystem::exists(out / "model.safetensors.index.json"),
              most == 1024);
  }
}

TEST(HuggingFaceWriter, FilesAreNumberedAndNoneIsLargerThanAskedFor) {
  const auto weights = open_weights(data_path("llama_tiny"));
  const TempFolder out;
  write_hugging_face(*weights, out.path(), to_hugging_face(120000), {});
  std::int64_t held = 0;
  for (const std::string name :
       {"model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
        "model-00003-of-00003.safetensors"}) {
    const checkpoint::SafetensorsFile file(out / name);
    EXPECT_EQ(file.metadata().at("format"), "pt");
    EXPECT_LE(file.entries().back().end, 120000);
    held += file.entries().back().end;
  }
  EXPECT_EQ(held, 330432);
  expect_mentions(read_file(out / "model.safetensors.index.json"),
                  {"\"total_size\": 330432", "\"total_parameters\": 82608",
                   "\"model.norm.weight\": \"model-0000"});
  expect_same_weights(*open_weights(out.path()), *weights);
}

TEST(HuggingFaceWriter, TypesAreThoseAskedForRoundedToNearest) {
  const auto weights = open_weights(data_path("llama_tiny"));
  const TempFolder out;
  ConvertOptions options = to_hugging_face();
  options.dtype = DType::kBF16;
  const auto half = there_and_back(*weights, out, options);
  expect_same_weights(*half, *open_weights(data_path("hf_bf16")));
  EXPECT_EQ(read_file(out / "model.safetensors"),
            read_file(data_path("hf_bf16/model.safetensors")));
  expect_mentions(read_file(out / "config.json"),
                  {"\"dtype\": \"bfloat16\"", "\"torch_dtype\": \"bfloat16\""});
}

TEST(HuggingFaceWriter, MixedTypesStayAsTheyAre) {
  ModelFolder mixed;
  auto& table = mixed.tensors.at("transformer.wpe.weight");
  table = as_dtype(table, DType::kF16);
  const auto weights = mixed.open();
  const TempFolder out;
  expect_same_weights(*there_and_back(*weights, out, to_hugging_face()),
                      *weights);
}

TEST(HuggingFaceWriter, ValuesThatAHalfCannotHoldAreSaid) {
  ModelFolder large;
  large.tensors.at("transformer.ln_f.bias").data<float>()[3] = 1e6f;
  const TempFolder out;
  ConvertOptions options = to_hugging_face();
  options.dtype = DType::kF16;
  const Converted done =
      write_hugging_face(*large.open(), out.path(), options, {});
  ASSERT_EQ(done.warnings.size(), 1u);
  expect_mentions(done.warnings[0], {"head.ln_f.bias"});
}

TEST(HuggingFaceWriter, TellsHowFarItIs) {
  const auto weights = open_weights(data_path("gpt2_tiny"));
  const TempFolder out;
  std::vector<std::int64_t> done;
  const Converted converted =
      write_hugging_face(*weights, out.path(), to_hugging_face(),
                         [&](std::int64_t now, std::int64_t all) {
                           EXPECT_EQ(all, 228672);
                           done.push_back(now);
                         });
  EXPECT_EQ(done.size(), weights->parameters().size());
  EXPECT_TRUE(std::ranges::is_sorted(done));
  EXPECT_EQ(done.back(), 228672);
  EXPECT_EQ(converted.bytes, 228672);
  EXPECT_EQ(converted.parameters, 40);
}

TEST(HuggingFaceWriter, AModelWithoutAFamilyGetsTheOneThatSaysIt) {
  Description description =
      open_weights(data_path("qwen2_small"))->description();
  description.family.clear();
  description.other_keys.clear();
  const TempFolder out;
  const auto again =
      there_and_back(CountingWeights(description), out, to_hugging_face());
  EXPECT_EQ(again->description().family, "qwen2");
}

}  // namespace
}  // namespace quire::convert
