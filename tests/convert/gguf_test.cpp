#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>

#include "quire/convert/convert.h"
#include "tests/convert/gguf_reader.h"
#include "tests/convert/model_folder.h"

namespace quire::convert {
namespace {

using namespace quire::testing;
using Extents = std::vector<std::uint64_t>;

struct Made {
  GgufFile file;
  std::vector<std::string> warnings;
};
Made made(const Weights& weights, std::optional<DType> dtype = {}) {
  const TempFolder folder;
  const auto done = convert(weights, folder / "model.gguf",
                            {.to = Format::kGguf, .dtype = dtype});
  return {GgufFile(read_file(folder / "model.gguf")), done.warnings};
}
GgufFile made_of(const std::string& golden) {
  return made(*open_weights(data_path(golden))).file;
}

std::vector<float> values_of(const Tensor& tensor) {
  const float* data = tensor.data<float>();
  return {data, data + tensor.numel()};
}

TEST(Gguf, KeysOfLlamaSayItsSizes) {
  const GgufFile file = made_of("llama_tiny");
  EXPECT_EQ(file.texts.at("general.architecture"), "llama");
  EXPECT_EQ(file.texts.at("general.name"), "llama_tiny");
  EXPECT_EQ(file.numbers.at("general.file_type"), 0u);
  const std::map<std::string, std::uint32_t> wanted = {
      {"context_length", 64},      {"embedding_length", 48},
      {"block_count", 3},          {"feed_forward_length", 104},
      {"attention.head_count", 6}, {"attention.head_count_kv", 2},
      {"attention.key_length", 8}, {"attention.value_length", 8},
      {"rope.dimension_count", 8}, {"vocab_size", 197}};
  for (const auto& [key, value] : wanted)
    EXPECT_EQ(file.numbers.at("llama." + key), value) << key;
  EXPECT_EQ(file.reals.at("llama.rope.freq_base"), 10000.0f);
  EXPECT_EQ(file.reals.at("llama.attention.layer_norm_rms_epsilon"), 1e-5f);
}

TEST(Gguf, QueriesAndKeysOfLlamaAreTurned) {
  const GgufFile file = made_of("llama_tiny");
  const Golden golden("llama_tiny/model");
  for (const auto& [there, here, heads] :
       {std::tuple("q_proj", "attn_q", 6), std::tuple("k_proj", "attn_k", 2)}) {
    const Tensor from = golden.tensor("model.layers.1.self_attn." +
                                      std::string(there) + ".weight");
    const auto values = file.floats("blk.1." + std::string(here) + ".weight");
    for (std::int64_t row = 0; row < heads * 8; ++row) {
      const std::int64_t in_head = row % 8;
      const std::int64_t source = row - in_head + in_head / 2 + in_head % 2 * 4;
      for (std::int64_t i = 0; i < 48; ++i)
        ASSERT_EQ(values[static_cast<std::size_t>(row * 48 + i)],
                  from.data<float>()[source * 48 + i]);
    }
  }
  EXPECT_EQ(file.floats("blk.1.attn_v.weight"),
            values_of(golden.tensor("model.layers.1.self_attn.v_proj.weight")));
}

TEST(Gguf, ExtentsAreWrittenTheFastestFirst) {
  const GgufFile file = made_of("llama_tiny");
  EXPECT_EQ(file.tensors.at("token_embd.weight").extents, (Extents{48, 197}));
  EXPECT_EQ(file.tensors.at("output.weight").extents, (Extents{48, 197}));
  EXPECT_EQ(file.tensors.at("blk.0.ffn_up.weight").extents, (Extents{48, 104}));
  EXPECT_EQ(file.tensors.at("blk.0.attn_norm.weight").extents, Extents{48});
  EXPECT_EQ(file.tensors.size(), 3u * 9 + 3);
}

TEST(Gguf, OtherArchitecturesAreNotTurned) {
  for (const std::string family : {"qwen2", "qwen3"}) {
    const GgufFile file = made_of(family + "_small");
    const Golden golden(family + "_small/model");
    EXPECT_EQ(file.texts.at("general.architecture"), family);
    EXPECT_TRUE(file.numbers.contains(family + ".attention.head_count_kv"));
    EXPECT_EQ(
        file.floats("blk.0.attn_q.weight"),
        values_of(golden.tensor("model.layers.0.self_attn.q_proj.weight")));
  }
  EXPECT_TRUE(made_of("qwen2_small").tensors.contains("blk.1.attn_k.bias"));
  EXPECT_TRUE(
      made_of("qwen3_small").tensors.contains("blk.1.attn_k_norm.weight"));
}

TEST(Gguf, TiedHeadsAreNotWrittenTwice) {
  EXPECT_FALSE(made_of("qwen2_small").tensors.contains("output.weight"));
  EXPECT_FALSE(made_of("gpt2_tiny").tensors.contains("output.weight"));
}

TEST(Gguf, MistralIsALlamaWithAWindowThatReadersMayPassOver) {
  const Made mistral = made(*open_weights(data_path("mistral_small")));
  EXPECT_EQ(mistral.file.texts.at("general.architecture"), "llama");
  EXPECT_EQ(mistral.file.numbers.at("llama.attention.sliding_window"), 9u);
  expect_mentions(mistral.warnings.at(0), {"window of 9"});
}

TEST(Gguf, MatricesOfGpt2AreOutputsByInputs) {
  const GgufFile file = made_of("gpt2_tiny");
  const Golden golden("gpt2_tiny/model");
  EXPECT_EQ(file.texts.at("general.architecture"), "gpt2");
  EXPECT_EQ(file.numbers.at("gpt2.feed_forward_length"), 144u);
  EXPECT_EQ(file.reals.at("gpt2.attention.layer_norm_epsilon"), 1e-5f);
  EXPECT_EQ(file.tensors.at("blk.2.attn_qkv.weight").extents,
            (Extents{36, 108}));
  const auto values = file.floats("blk.2.attn_qkv.weight");
  const Tensor from = golden.tensor("transformer.h.2.attn.c_attn.weight");
  for (std::size_t out = 0; out < 108; ++out)
    for (std::size_t in = 0; in < 36; ++in)
      ASSERT_EQ(values[out * 36 + in], from.data<float>()[in * 108 + out]);
  for (const char* name :
       {"position_embd.weight", "output_norm.bias", "blk.0.attn_norm.bias",
        "blk.0.attn_output.weight", "blk.0.ffn_norm.weight",
        "blk.0.ffn_up.bias", "blk.0.ffn_down.weight"})
    EXPECT_TRUE(file.tensors.contains(name)) << name;
}

TEST(Gguf, VectorsAndPositionsStayFp32) {
  for (const auto& [dtype, type, file_type] :
       {std::tuple(DType::kF16, 1u, 1u), std::tuple(DType::kBF16, 30u, 32u)}) {
    const GgufFile file =
        made(*open_weights(data_path("gpt2_tiny")), dtype).file;
    EXPECT_EQ(file.numbers.at("general.file_type"), file_type);
    EXPECT_EQ(file.tensors.at("token_embd.weight").type, type);
    EXPECT_EQ(file.tensors.at("blk.0.ffn_up.weight").type, type);
    for (const char* name : {"position_embd.weight", "output_norm.weight",
                             "blk.0.ffn_up.bias", "blk.1.attn_norm.weight"})
      EXPECT_EQ(file.tensors.at(name).type, 0u) << name;
  }
}

// Frequency i of width 12, theta 500000: factor 4, low 1, high 4, context 40.
TEST(Gguf, Llama3HasTheDivisorsOfItsFrequencies) {
  const auto divisors = made_of("llama3_small").floats("rope_freqs.weight");
  ASSERT_EQ(divisors.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    const double wave = 2 * std::numbers::pi *
                        std::pow(500000.0, 2.0 * static_cast<double>(i) / 12);
    const double smooth = (40 / wave - 1) / 3;
    const double wanted = wave < 10   ? 1.0
                          : wave > 40 ? 4.0
                                      : 1 / ((1 - smooth) / 4 + smooth);
    EXPECT_FLOAT_EQ(divisors[i], static_cast<float>(wanted)) << i;
  }
  EXPECT_FALSE(made_of("llama_tiny").tensors.contains("rope_freqs.weight"));
}

TEST(Gguf, WithoutTokenizerFilesItSaysSo) {
  const Made llama = made(*open_weights(data_path("llama_tiny")));
  ASSERT_EQ(llama.warnings.size(), 1u);
  expect_mentions(llama.warnings[0], {"no tokenizer", "tokenizer.json"});
  EXPECT_TRUE(llama.file.lists.empty());
}

constexpr const char* kTokenizer = R"({
  "added_tokens": [{"id": 5, "content": "<|end|>", "special": true},
                   {"id": 6, "content": "<tool>", "special": false}],
  "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": "(?i:'s)|\\p{N}{1,3}"}},
    {"type": "ByteLevel"}]},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 3},
            "merges": MERGES}})";

std::string tokenizer(const std::string& merges) {
  std::string text = kTokenizer;
  return text.replace(text.find("MERGES"), 6, merges);
}

TEST(Gguf, TakesTheTokenizerOfItsJson) {
  for (const char* merges : {R"(["a b"])", R"([["a", "b"]])"}) {
    ModelFolder model("llama_tiny");
    write_file(model.folder / "tokenizer.json", tokenizer(merges));
    const GgufFile file = made(*model.open()).file;
    EXPECT_EQ(file.texts.at("tokenizer.ggml.model"), "gpt2");
    EXPECT_EQ(file.texts.at("tokenizer.ggml.pre"), "llama-bpe");
    const auto& tokens = file.lists.at("tokenizer.ggml.tokens");
    ASSERT_EQ(tokens.size(), 197u);
    EXPECT_EQ(std::vector(tokens.begin(), tokens.begin() + 7),
              (std::vector<std::string>{"a", "b", "[PAD2]", "ab", "[PAD4]",
                                        "<|end|>", "<tool>"}));
    const auto& types = file.integers.at("tokenizer.ggml.token_type");
    EXPECT_EQ(std::vector(types.begin(), types.begin() + 7),
              (std::vector<std::int32_t>{1, 1, 5, 1, 5, 3, 4}));
    EXPECT_EQ(file.lists.at("tokenizer.ggml.merges"),
              std::vector<std::string>{"a b"});
    EXPECT_EQ(file.numbers.at("tokenizer.ggml.bos_token_id"), 0u);
  }
}

TEST(Gguf, TakesTheTokenizerOfVocabAndMerges) {
  ModelFolder model;
  write_file(model.folder / "vocab.json",
             R"({"h": 0, "i": 1, "hi": 2, "<|endoftext|>": 3})");
  write_file(model.folder / "merges.txt", "#version: 0.2\nh i\n");
  const GgufFile file = made(*model.open()).file;
  EXPECT_EQ(file.texts.at("tokenizer.ggml.pre"), "gpt-2");
  EXPECT_EQ(file.lists.at("tokenizer.ggml.tokens").at(2), "hi");
  EXPECT_EQ(file.integers.at("tokenizer.ggml.token_type").at(3), 3);
  EXPECT_EQ(file.lists.at("tokenizer.ggml.merges"),
            std::vector<std::string>{"h i"});
}

constexpr const char* kAddBos = "tokenizer.ggml.add_bos_token";

std::string with_processor(const std::string& processor) {
  return tokenizer("[]").insert(1, "\"post_processor\": " + processor + ",");
}

// One that puts the ids before a text, in as many sequences as `nested` says.
std::string frame(const std::string& ids, int nested) {
  if (nested > 0)
    return R"({"type": "Sequence", "processors": [{"type": "ByteLevel"}, )" +
           frame(ids, nested - 1) + "]}";
  return R"({"type": "TemplateProcessing", "single": [{"SpecialToken":
      {"id": "<s>"}}, {"Sequence": {"id": "A"}}], "special_tokens":
      {"<s>": {"id": "<s>", "ids": [)" +
         ids + "]}}}";
}

// The model's bos_token_id is 0.
TEST(Gguf, SaysWhetherATextBeginsWithBos) {
  const auto adds = [](const std::string& text) {
    ModelFolder model("llama_tiny");
    write_file(model.folder / "tokenizer.json", text);
    return made(*model.open()).file.flags.at(kAddBos);
  };
  EXPECT_TRUE(adds(with_processor(frame("0", 0))));
  EXPECT_TRUE(adds(with_processor(frame("0, 5", 1))));
  EXPECT_TRUE(adds(with_processor(frame("0", 2))));
  EXPECT_TRUE(adds(with_processor(frame("0", 4))));
  EXPECT_FALSE(adds(with_processor(frame("5", 1))));
  EXPECT_FALSE(adds(with_processor(frame("", 0))));
  EXPECT_FALSE(adds(tokenizer("[]")));
}

TEST(Gguf, SequencesTooDeepLeaveTheTokenizerOut) {
  ModelFolder model("llama_tiny");
  write_file(model.folder / "tokenizer.json", with_processor(frame("0", 5)));
  const Made deep = made(*model.open());
  expect_mentions(deep.warnings.at(0), {"no tokenizer", "Sequence", "3"});
  EXPECT_FALSE(deep.file.flags.contains(kAddBos));
}

TEST(Gguf, TakesFromTheConfigurationWhetherATextBeginsWithBos) {
  const auto adds = [](const char* config) {
    ModelFolder model("llama_tiny");
    write_file(model.folder / "vocab.json", R"({"<s>": 0, "i": 1})");
    write_file(model.folder / "merges.txt", "");
    write_file(model.folder / "tokenizer_config.json", config);
    return made(*model.open()).file.flags.at(kAddBos);
  };
  EXPECT_TRUE(adds(R"({"add_bos_token": true, "bos_token": "<s>"})"));
  EXPECT_TRUE(
      adds(R"({"add_bos_token": true, "bos_token": {"content": "<s>"}})"));
  EXPECT_FALSE(adds(R"({"add_bos_token": true, "bos_token": "i"})"));
  EXPECT_FALSE(adds(R"({"add_bos_token": true, "bos_token": null})"));
  EXPECT_FALSE(adds(R"({"add_bos_token": true})"));
  EXPECT_FALSE(adds(R"({"bos_token": "<s>"})"));
}

TEST(Gguf, TokenizersThatDoNotFitAreLeftOutWithAWarning) {
  ModelFolder model("llama_tiny");
  std::string text = tokenizer("[]");
  write_file(model.folder / "tokenizer.json",
             text.replace(text.find("\"id\": 6"), 7, "\"id\": 197"));
  const Made large = made(*model.open());
  expect_mentions(large.warnings.at(0), {"<tool>", "197"});
  EXPECT_TRUE(large.file.lists.empty());
  write_file(model.folder / "tokenizer.json",
             R"({"model": {"type": "Unigram", "vocab": []}})");
  expect_mentions(made(*model.open()).warnings.at(0), {"no byte-level BPE"});
}

TEST(Gguf, FilesWhoseAnswerIsNotUsedAreNotRead) {
  ModelFolder model("llama_tiny");
  write_file(model.folder / "tokenizer_config.json", "{");
  expect_mentions(made(*model.open()).warnings.at(0), {"neither"});
}

TEST(Gguf, WhatIsWrongWithBosLeavesTheTokenizerOutWithAWarning) {
  for (const char* config : {"{", R"({"add_bos_token": "yes"})"}) {
    ModelFolder model("llama_tiny");
    write_file(model.folder / "vocab.json", R"({"<s>": 0, "i": 1})");
    write_file(model.folder / "merges.txt", "");
    write_file(model.folder / "tokenizer_config.json", config);
    const Made pair = made(*model.open());
    expect_mentions(pair.warnings.at(0),
                    {"no tokenizer", "tokenizer_config.json"});
    EXPECT_TRUE(pair.file.lists.empty());
    write_file(model.folder / "tokenizer.json",
               with_processor(R"({"type": 3})"));
    const Made whole = made(*model.open());
    expect_mentions(whole.warnings.at(0), {"no tokenizer", "post_processor"});
    EXPECT_FALSE(whole.file.flags.contains(kAddBos));
  }
}

}  // namespace
}  // namespace quire::convert
