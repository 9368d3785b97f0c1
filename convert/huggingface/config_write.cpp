#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "quire/convert/huggingface/config.h"
#include "quire/convert/huggingface/families.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

using Scaling = nn::RotaryOptions::Scaling;

std::string literal(std::string_view text) {
  return nlohmann::json(text).dump();
}

// The shortest that reads back as the same float, with a point or an exponent.
std::string real(float value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

// Keys and their values as JSON.
class Lines {
 public:
  explicit Lines(std::map<std::string, std::string> lines)
      : lines_(std::move(lines)) {}

  void set(const std::string& key, std::string json) {
    lines_.insert_or_assign(key, std::move(json));
  }
  void set(const std::string& key, std::int64_t value) {
    set(key, fmt::format("{}", value));
  }
  void set(const std::string& key, float value) { set(key, real(value)); }
  void flag(const std::string& key, bool value) {
    set(key, fmt::format("{}", value));
  }
  std::string text() const {
    std::string text = "{";
    for (const auto& [key, json] : lines_)
      text += fmt::format("{}\n  {}: {}", text.size() == 1 ? "" : ",",
                          literal(key), json);
    return text + "\n}\n";
  }

 private:
  std::map<std::string, std::string> lines_;
};

std::string_view type_name(DType dtype) {
  if (dtype == DType::kF32) return "float32";
  return dtype == DType::kBF16 ? "bfloat16" : "float16";
}

void write_head(Lines& lines, std::string_view family,
                std::string_view architecture, DType dtype) {
  lines.set("architectures", fmt::format("[{}]", literal(architecture)));
  lines.set("model_type", literal(family));
  for (const char* key : {"dtype", "torch_dtype"})
    lines.set(key, literal(type_name(dtype)));
}

void write_options(Lines& lines, const models::Gpt2Options& o) {
  lines.set("activation_function", literal("gelu_new"));
  lines.set("n_layer", o.layers);
  lines.set("n_embd", o.width);
  lines.set("n_head", o.heads);
  lines.set("n_inner", std::string("null"));
  for (const char* key : {"n_positions", "n_ctx"}) lines.set(key, o.context);
  lines.set("vocab_size", o.vocab);
  lines.set("layer_norm_epsilon", o.norm_eps);
  for (const char* key : {"attn_pdrop", "embd_pdrop", "resid_pdrop"})
    lines.set(key, o.dropout);
  lines.flag("tie_word_embeddings", true);
}

// Members of rope_scaling and rope_parameters.
std::string scaling_members(const nn::RotaryOptions& rotary) {
  if (rotary.scaling == Scaling::kDefault) return R"("rope_type": "default")";
  const bool linear = rotary.scaling == Scaling::kLinear;
  std::string text =
      fmt::format(R"("rope_type": "{}", "factor": {})",
                  linear ? "linear" : "llama3", real(rotary.factor));
  if (linear) return text;
  return text +
         fmt::format(R"(, "low_freq_factor": {}, "high_freq_factor": {}, )"
                     R"("original_max_position_embeddings": {})",
                     real(rotary.low_frequency_factor),
                     real(rotary.high_frequency_factor),
                     rotary.original_context);
}

// New versions read rope_parameters, old ones the other two; those before them
// know the type as "type".
void write_rotary(Lines& lines, const nn::RotaryOptions& rotary) {
  const std::string members = scaling_members(rotary);
  const bool linear = rotary.scaling == Scaling::kLinear;
  lines.set("rope_theta", rotary.theta);
  lines.set("rope_scaling",
            rotary.scaling == Scaling::kDefault
                ? "null"
                : fmt::format("{{{}{}}}", linear ? R"("type": "linear", )" : "",
                              members));
  lines.set("rope_parameters", fmt::format(R"({{"rope_theta": {}, {}}})",
                                           real(rotary.theta), members));
}

std::string layer_types(const models::LlamaOptions& o) {
  const std::string_view type =
      o.window > 0 ? "\"sliding_attention\"" : "\"full_attention\"";
  std::string list;
  for (std::int64_t i = 0; i < o.layers; ++i)
    list += fmt::format("{}{}", i == 0 ? "" : ", ", type);
  return "[" + list + "]";
}

void write_window(Lines& lines, const Family& family,
                  const models::LlamaOptions& o) {
  if (family.window == Family::Window::kNone) return;
  lines.set("sliding_window",
            o.window > 0 ? fmt::format("{}", o.window) : "null");
  if (family.window == Family::Window::kAll) return;
  lines.flag("use_sliding_window", o.window > 0);
  lines.set("max_window_layers", o.window > 0 ? 0 : o.layers);
  lines.set("layer_types", layer_types(o));
}

void write_options(Lines& lines, const Family& family,
                   const models::LlamaOptions& o) {
  lines.set("hidden_act", literal("silu"));
  lines.set("num_hidden_layers", o.layers);
  lines.set("hidden_size", o.width);
  lines.set("num_attention_heads", o.heads);
  lines.set("num_key_value_heads", o.kv_heads);
  lines.set("head_dim", o.head_width);
  lines.set("intermediate_size", o.hidden);
  lines.set("max_position_embeddings", o.context);
  lines.set("vocab_size", o.vocab);
  lines.set("rms_norm_eps", o.norm_eps);
  lines.flag("tie_word_embeddings", o.tied_head);
  if (family.attention_bias) lines.flag("attention_bias", o.qkv_bias);
  if (family.mlp_bias) lines.flag("mlp_bias", o.mlp_bias);
  write_rotary(lines, o.rotary);
  write_window(lines, family, o);
}

}  // namespace

std::string config_text(const Description& description, DType dtype) {
  Lines lines(description.other_keys);
  if (const auto* gpt2 =
          std::get_if<models::Gpt2Options>(&description.options)) {
    write_head(lines, "gpt2", "GPT2LMHeadModel", dtype);
    write_options(lines, *gpt2);
    return lines.text();
  }
  const auto& llama = std::get<models::LlamaOptions>(description.options);
  const Family& family =
      *find_family(family_of(description.options, description.family));
  write_head(lines, family.name, family.architecture, dtype);
  write_options(lines, family, llama);
  return lines.text();
}

}  // namespace quire::convert
