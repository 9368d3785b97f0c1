#include "quire/convert/huggingface/config.h"

#include <gtest/gtest.h>

#include "quire/checkpoint/files.h"
#include "tests/support/golden_llamas.h"
#include "tests/support/tensors.h"

namespace quire::convert {
namespace {

using namespace quire::testing;
using models::Gpt2Options;
using models::LlamaOptions;
using Scaling = nn::RotaryOptions::Scaling;

struct Read {
  Description description;
  std::vector<std::string> warnings;

  const LlamaOptions& llama() const {
    return std::get<LlamaOptions>(description.options);
  }
  const Gpt2Options& gpt2() const {
    return std::get<Gpt2Options>(description.options);
  }
};

Read read(const std::string& text) {
  Read result;
  result.description = parse_config(text, "config.json", result.warnings);
  return result;
}
Read golden(const std::string& name) {
  return read(checkpoint::read_text(
      std::string(QUIRE_TEST_DATA) + "/" + name + "/config.json", 1 << 20));
}
// A configuration of one family with some keys; all others are missing.
std::string config(const std::string& family, const std::string& keys = "") {
  return R"({"model_type":")" + family + '"' + (keys.empty() ? "" : ",") +
         keys + "}";
}
// A small one, of 4 heads of 8 and 2 layers.
std::string small(const std::string& family, const std::string& keys = "") {
  return config(family, R"("hidden_size":32,"num_attention_heads":4,)"
                        R"("num_key_value_heads":2,"num_hidden_layers":2)" +
                            std::string(keys.empty() ? "" : ",") + keys);
}

// Every option, in each_field's order.
template <class Options>
std::vector<double> fields(const Options& options) {
  std::vector<double> values;
  models::each_field(options, [&](std::string_view, const auto& field) {
    values.push_back(static_cast<double>(field));
  });
  return values;
}
void expect_options(const LlamaOptions& got, const LlamaOptions& wanted) {
  EXPECT_EQ(fields(got), fields(wanted));
}

// Scaled frequencies, a window, biases and norms of heads among them.
TEST(Config, ReadsTheOptionsOfEveryFamily) {
  for (const auto& wanted : golden_llamas()) {
    SCOPED_TRACE(wanted.folder);
    const Read got = golden(wanted.folder);
    EXPECT_TRUE(got.warnings.empty());
    expect_options(got.llama(), wanted.options);
  }
  EXPECT_EQ(golden("llama_tiny").description.family, "llama");
}

TEST(Config, ReadsTheOptionsOfTheTinyGpt2) {
  const Read got = golden("gpt2_tiny");
  EXPECT_EQ(
      fields(got.gpt2()),
      fields(Gpt2Options{
          .layers = 3, .width = 36, .heads = 3, .context = 40, .vocab = 211}));
  EXPECT_EQ(got.description.other_keys.at("summary_type"), "\"cls_index\"");
  EXPECT_EQ(got.description.other_keys.count("n_layer"), 0u);
}

TEST(Config, MissingKeysHaveTheValuesOfTransformers) {
  EXPECT_EQ(fields(read(config("gpt2")).gpt2()),
            fields(Gpt2Options{.layers = 12,
                               .width = 768,
                               .heads = 12,
                               .context = 1024,
                               .vocab = 50257,
                               .dropout = 0.1f}));
  LlamaOptions wanted{.layers = 32,
                      .width = 4096,
                      .heads = 32,
                      .kv_heads = 32,
                      .head_width = 128,
                      .hidden = 11008,
                      .context = 2048,
                      .vocab = 32000,
                      .norm_eps = 1e-6f};
  expect_options(read(config("llama")).llama(), wanted);
  wanted.kv_heads = 8;
  wanted.hidden = 14336;
  wanted.context = 131072;
  wanted.window = 4096;
  expect_options(read(config("mistral")).llama(), wanted);
  wanted.kv_heads = 32;
  wanted.hidden = 22016;
  wanted.context = 32768;
  wanted.vocab = 151936;
  wanted.window = 0;
  wanted.qkv_bias = true;
  expect_options(read(config("qwen2")).llama(), wanted);
  wanted.qkv_bias = false;
  wanted.qk_norm = true;
  expect_options(read(config("qwen3")).llama(), wanted);
}

TEST(Config, KnowsTheTanhGeluByItsThreeNames) {
  for (const std::string name : {"gelu_new", "gelu_pytorch_tanh", "gelu_fast"})
    EXPECT_NO_THROW(
        read(config("gpt2", R"("activation_function":")" + name + '"')));
}

TEST(Config, NullIsNotTheSameAsMissing) {
  EXPECT_EQ(read(small("mistral", R"("sliding_window":null)")).llama().window,
            0);
  const std::string wide = R"("hidden_size":32,"num_attention_heads":4)";
  const auto heads = [&](const std::string& keys) {
    return read(config("mistral", wide + "," + keys)).llama();
  };
  EXPECT_EQ(heads(R"("num_key_value_heads":null)").kv_heads, 4);
  EXPECT_EQ(read(small("qwen3")).llama().head_width, 128);
  EXPECT_EQ(read(small("qwen3", R"("head_dim":null)")).llama().head_width, 8);
  EXPECT_EQ(read(small("llama")).llama().head_width, 8);
}

TEST(Config, OldAndNewSpellingsOfTheRotaryOptionsAreOne) {
  const auto rotary = [](const std::string& keys) {
    return read(small("llama", keys)).llama().rotary;
  };
  const nn::RotaryOptions linear{
      .theta = 5000.0f, .scaling = Scaling::kLinear, .factor = 2.5f};
  EXPECT_EQ(rotary(R"("rope_theta":5000,)"
                   R"("rope_scaling":{"type":"linear","factor":2.5})"),
            linear);
  EXPECT_EQ(rotary(R"("rope_parameters":{"rope_type":"linear","factor":2.5,)"
                   R"("rope_theta":5000.0})"),
            linear);
  const nn::RotaryOptions llama3{.theta = 500000.0f,
                                 .scaling = Scaling::kLlama3,
                                 .factor = 8.0f,
                                 .low_frequency_factor = 1.0f,
                                 .high_frequency_factor = 4.0f,
                                 .original_context = 8192};
  const std::string members =
      R"("factor":8,"low_freq_factor":1,"high_freq_factor":4,)"
      R"("original_max_position_embeddings":8192)";
  EXPECT_EQ(rotary(R"("rope_theta":500000,"rope_scaling":{)"
                   R"("rope_type":"llama3",)" +
                   members + "}"),
            llama3);
  EXPECT_EQ(rotary(R"("rope_parameters":{"rope_theta":5e5,)"
                   R"("rope_type":"llama3",)" +
                   members + "}"),
            llama3);
  EXPECT_EQ(rotary(R"("rope_scaling":null)"), nn::RotaryOptions{});
}

TEST(Config, SpellingsThatContradictAreRefused) {
  const auto refusal = [](const std::string& keys) {
    return usage_error_of([&] { read(small("llama", keys)); });
  };
  expect_mentions(
      refusal(R"("rope_theta":10000,"rope_parameters":{"rope_theta":20000})"),
      {"rope_parameters.rope_theta", "20000", "10000"});
  expect_mentions(refusal(R"("rope_parameters":{"rope_type":"default"},)"
                          R"("rope_scaling":{"type":"linear","factor":2})"),
                  {"rope_scaling", "rope_parameters"});
}

TEST(Config, AWindowOfAllLayersOrOfNone) {
  const auto window = [](const std::string& keys) {
    return read(small("qwen2", keys)).llama().window;
  };
  const std::string used = R"("use_sliding_window":true,"sliding_window":9)";
  EXPECT_EQ(window(R"("sliding_window":9)"), 0);
  EXPECT_EQ(window(used), 0);  // from layer 28 on
  EXPECT_EQ(window(used + R"(,"max_window_layers":0)"), 9);
  EXPECT_EQ(window(used + R"(,"layer_types":)"
                          R"(["sliding_attention","sliding_attention"])"),
            9);
  EXPECT_EQ(
      window(used + R"(,"layer_types":["full_attention","full_attention"])"),
      0);
  const auto refusal = [](const std::string& keys) {
    return usage_error_of([&] { read(small("qwen2", keys)); });
  };
  expect_mentions(refusal(used + R"(,"max_window_layers":1)"),
                  {"max_window_layers"});
  expect_mentions(refusal(used + R"(,"layer_types":)"
                                 R"(["full_attention","sliding_attention"])"),
                  {"layer_types[1]", "mixed"});
  expect_mentions(refusal(R"("layer_types":["full_attention"])"),
                  {"layer_types", "layers, 2"});
}

TEST(Config, WhatAModelOfQuireCannotBeIsRefusedByFileAndKey) {
  const auto refuse = [](const std::string& family, const std::string& key,
                         const std::string& value) {
    const std::string text =
        (family == "gpt2" ? config : small)(family, '"' + key + "\":" + value);
    expect_mentions(usage_error_of([&] { read(text); }), {"config.json", key});
  };
  refuse("llama", "hidden_act", R"("gelu")");
  refuse("llama", "rope_scaling", R"({"rope_type":"yarn","factor":2})");
  refuse("llama", "rope_scaling", R"({"type":"dynamic","factor":2})");
  refuse("llama", "rope_parameters", R"({"partial_rotary_factor":0.5})");
  refuse("llama", "rope_parameters",
         R"({"full_attention":{"rope_type":"default"}})");
  refuse("llama", "rope_parameters", R"({"mrope_section":[1,2]})");
  refuse("llama", "partial_rotary_factor", "0.5");
  refuse("llama", "quantization_config", R"({"bits":4})");
  refuse("llama", "layer_types", R"(["sliding_attention","full_attention"])");
  refuse("gpt2", "activation_function", R"("relu")");
  refuse("gpt2", "scale_attn_by_inverse_layer_idx", "true");
  refuse("gpt2", "scale_attn_weights", "false");
  refuse("gpt2", "add_cross_attention", "true");
  refuse("gpt2", "tie_word_embeddings", "false");
  refuse("gpt2", "n_inner", "100");
  expect_mentions(usage_error_of([] { read(config("falcon")); }),
                  {"model_type", "falcon", "qwen3"});
  expect_mentions(usage_error_of([] { read("{}"); }), {"model_type"});
}

TEST(Config, AnotherScalingIsRefusedByItsTypeNotByItsKeys) {
  for (const std::string scaling :
       {R"({"beta_fast":32,"factor":4.0,"rope_type":"yarn"})",
        R"({"type":"longrope","short_factor":[1],"long_factor":[2]})"})
    expect_mentions(usage_error_of([&] {
                      read(small("llama", R"("rope_scaling":)" + scaling));
                    }),
                    {"type: got", "\"linear\" or \"llama3\""});
}

TEST(Config, HostileValuesAreRefusedByKey) {
  const auto refuse = [](const std::string& key, const std::string& value) {
    expect_mentions(usage_error_of([&] {
                      read(config("llama", '"' + key + "\":" + value));
                    }),
                    {"config.json", key});
  };
  for (const char* value : {"-1", "0", "1.5", "1e3", "\"4\"", "null", "[4]",
                            "1000000000000000000000000", "2147483649"})
    for (const char* key :
         {"num_hidden_layers", "hidden_size", "num_attention_heads",
          "vocab_size", "max_position_embeddings", "intermediate_size"})
      refuse(key, value);
  refuse("num_hidden_layers", "1000000000");
  refuse("num_attention_heads", "5");
  refuse("num_key_value_heads", "5");
  refuse("head_dim", "7");
  refuse("head_dim", "1048576");
  for (const char* value : {"-1e-5", "0", "1e300", "true", "\"x\""})
    refuse("rms_norm_eps", value);
  refuse("rope_theta", "-1");
  refuse("rope_scaling", R"({"type":"linear","factor":0})");
  refuse("rope_scaling", R"({"type":"linear"})");
  refuse("rope_scaling",
         R"({"type":"llama3","factor":2,"low_freq_factor":4,)"
         R"("high_freq_factor":4,"original_max_position_embeddings":8})");
  refuse("tie_word_embeddings", "1");
  refuse("model_type", R"("llama")");  // twice
}

TEST(Config, BrokenDocumentsAreRefused) {
  const auto refusal = [](const std::string& text) {
    return usage_error_of([&] { read(text); });
  };
  for (const char* text : {"", "[]", "{", "nonsense", "\"llama\"", "{}x"})
    EXPECT_NE(refusal(text).find("config.json"), std::string::npos) << text;
  const std::string deep(1000, '[');
  expect_mentions(refusal(config("llama", "\"x\":" + deep)), {"deeper"});
  expect_mentions(refusal(R"({"model_type":{}})"), {"model_type"});
}

// What was written describes the same model.
void expect_round_trip(const Description& description) {
  const Read again = read(config_text(description, DType::kBF16));
  EXPECT_EQ(again.description.family, description.family);
  EXPECT_EQ(again.description.other_keys, description.other_keys);
  EXPECT_TRUE(again.warnings.empty());
  std::visit(
      [&](const auto& options) {
        using Options = std::decay_t<decltype(options)>;
        EXPECT_EQ(fields(std::get<Options>(again.description.options)),
                  fields(options));
      },
      description.options);
}

TEST(Config, WhatIsWrittenReadsBackTheSame) {
  for (const char* name : {"gpt2_tiny", "llama_tiny", "llama3_small",
                           "mistral_small", "qwen2_small", "qwen3_small"})
    expect_round_trip(golden(name).description);
  const std::string used = R"("use_sliding_window":true,"sliding_window":9,)"
                           R"("max_window_layers":0)";
  expect_round_trip(read(small("qwen2", used)).description);
  expect_round_trip(read(small("qwen3", used)).description);
  expect_round_trip(
      read(small("llama",
                 R"("attention_bias":true,"mlp_bias":true,)"
                 R"("rms_norm_eps":1.234567e-5,"rope_theta":12345.678,)"
                 R"("rope_scaling":{"type":"linear","factor":3})"))
          .description);
  expect_round_trip(
      read(config("gpt2", R"("attn_pdrop":0.3,"resid_pdrop":0.3,)"
                          R"("embd_pdrop":0.3,"odd \" key":[1,{"a":0.1}])"))
          .description);
}

TEST(Config, IsWrittenForOldAndNewReaders) {
  const std::string text =
      config_text(golden("llama3_small").description, DType::kBF16);
  expect_mentions(
      text,
      {R"("dtype": "bfloat16")", R"("torch_dtype": "bfloat16")",
       R"("architectures": ["LlamaForCausalLM"])", R"("rope_theta": 500000.0)",
       R"("rope_scaling": {"rope_type": "llama3", "factor": 4.0, )"
       R"("low_freq_factor": 1.0, "high_freq_factor": 4.0, )"
       R"("original_max_position_embeddings": 40})",
       R"("rope_parameters": {"rope_theta": 500000.0, "rope_type": )"
       R"("llama3", )",
       R"("transformers_version": "5.24.0")", R"("head_dim": 12)",
       R"("rms_norm_eps": 1e-06)", R"("pad_token_id": null)"});
}

TEST(Config, AFamilyIsFoundForOptionsThatCameWithoutOne) {
  LlamaOptions options = golden("llama_tiny").llama();
  EXPECT_EQ(family_of(options), "llama");
  EXPECT_EQ(family_of(options, "mistral"), "mistral");
  EXPECT_EQ(family_of(options, "qwen3"), "llama");
  options.window = 5;
  EXPECT_EQ(family_of(options, "llama"), "mistral");
  options.qkv_bias = true;
  EXPECT_EQ(family_of(options), "qwen2");
  options.mlp_bias = true;
  expect_mentions(usage_error_of([&] { family_of(options); }),
                  {"no family", "window of 5"});
  EXPECT_EQ(family_of(Gpt2Options{}), "gpt2");
}

TEST(Config, WhatIsTakenOtherwiseThanWrittenIsSaid) {
  const Read dropouts = read(config("gpt2", R"("attn_pdrop":0.5)"));
  ASSERT_EQ(dropouts.warnings.size(), 1u);
  expect_mentions(dropouts.warnings[0], {"attn_pdrop", "0.5"});
  const Read contexts =
      read(config("gpt2", R"("n_ctx":512,"n_positions":256)"));
  EXPECT_EQ(contexts.gpt2().context, 256);
  ASSERT_EQ(contexts.warnings.size(), 1u);
  EXPECT_EQ(read(config("gpt2", R"("n_ctx":512)")).gpt2().context, 512);
  ASSERT_EQ(read(small("llama", R"("attention_dropout":0.1)")).warnings.size(),
            1u);
}

}  // namespace
}  // namespace quire::convert
