#include <fmt/format.h>

#include "quire/convert/huggingface/config_read.h"

namespace quire::convert {
namespace {

using checkpoint::Json;
using models::LlamaOptions;

// A key that is missing is named by what makes its default wrong.
[[noreturn]] void refuse_key(const ConfigKeys& keys, std::string_view key,
                             const std::string& expected) {
  const auto value = keys.json().find(key);
  (value ? *value : keys.json()).refuse(expected);
}

// null: as many as heads.
void read_kv_heads(ConfigKeys& keys, const Family& family, LlamaOptions& o) {
  constexpr std::string_view kKey = "num_key_value_heads";
  const auto value = keys.given(kKey);
  if (value)
    o.kv_heads = value->integer(1, kMostWidth);
  else
    o.kv_heads =
        keys.stands(kKey) || family.kv_heads == 0 ? o.heads : family.kv_heads;
  if (o.heads % o.kv_heads != 0)
    refuse_key(keys, kKey,
               fmt::format("{} {} to divide num_attention_heads {}", kKey,
                           o.kv_heads, o.heads));
}

void read_head_width(ConfigKeys& keys, const Family& family, LlamaOptions& o) {
  constexpr std::string_view kKey = "head_dim";
  const auto value = keys.given(kKey);
  if (value) {
    o.head_width = value->integer(1, kMostWidth);
  } else if (family.head_width > 0 && !keys.stands(kKey)) {
    o.head_width = family.head_width;
  } else {
    if (o.width % o.heads != 0)
      refuse_key(keys, "num_attention_heads",
                 fmt::format("a divisor of hidden_size {}, as there is no {}",
                             o.width, kKey));
    o.head_width = o.width / o.heads;
  }
  if (o.head_width % 2 != 0 || o.head_width > kMostHidden / o.heads)
    refuse_key(keys, value ? kKey : "num_attention_heads",
               fmt::format("heads of an even width and of {} together at most; "
                           "these are {} of {}",
                           kMostHidden, o.heads, o.head_width));
}

void read_sizes(ConfigKeys& keys, const Family& family, LlamaOptions& o) {
  o.layers = keys.size("num_hidden_layers", {32, kMostLayers});
  o.width = keys.size("hidden_size", {4096, kMostWidth});
  o.heads = keys.size("num_attention_heads", {32, kMostWidth});
  o.hidden = keys.size("intermediate_size", {family.hidden, kMostHidden});
  o.context =
      keys.size("max_position_embeddings", {family.context, kMostContext});
  o.vocab = keys.size("vocab_size", {family.vocab, kMostVocab});
  read_kv_heads(keys, family, o);
  read_head_width(keys, family, o);
}

void read_switches(ConfigKeys& keys, const Family& family, LlamaOptions& o) {
  o.qkv_bias = family.qkv_bias;
  if (family.attention_bias)
    o.qkv_bias = o.output_bias = keys.flag("attention_bias", false);
  if (family.mlp_bias) o.mlp_bias = keys.flag("mlp_bias", false);
  o.qk_norm = family.qk_norm;
  o.tied_head = keys.flag("tie_word_embeddings", false);
}

// It stays among the other keys.
void warn_of_dropout(const ConfigKeys& keys,
                     std::vector<std::string>& warnings) {
  const auto rate = keys.json().find("attention_dropout");
  if (rate && !rate->is_null() && rate->real() != 0.0)
    warnings.push_back(fmt::format("{} is {}; training applies none",
                                   rate->where(), rate->real()));
}

}  // namespace

LlamaOptions read_llama(ConfigKeys& keys, const Family& family,
                        std::vector<std::string>& warnings) {
  keys.require_one_of("hidden_act", {"silu", "swish"});
  LlamaOptions options{};
  read_sizes(keys, family, options);
  options.norm_eps = keys.real("rms_norm_eps", 0.0f).value_or(1e-6f);
  options.rotary = read_rotary(keys, options.context);
  options.window = read_window(keys, family, options.layers);
  read_switches(keys, family, options);
  warn_of_dropout(keys, warnings);
  return options;
}

}  // namespace quire::convert
