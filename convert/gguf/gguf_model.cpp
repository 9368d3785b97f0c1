#include "quire/convert/gguf/gguf_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <variant>

#include "quire/core/error.h"

namespace quire::convert {
namespace {

using models::Gpt2Options;
using models::LlamaOptions;
using Scaling = nn::RotaryOptions::Scaling;

using NamePair = std::pair<std::string_view, std::string_view>;
constexpr std::array kOutside = {NamePair{"embed.wte.", "token_embd."},
                                 NamePair{"embed.wpe.", "position_embd."},
                                 NamePair{"head.ln_f.", "output_norm."},
                                 NamePair{"embed.embed_tokens.", "token_embd."},
                                 NamePair{"head.norm.", "output_norm."},
                                 NamePair{"head.lm_head.", "output."}};
constexpr std::array kInBlocks = {
    NamePair{"ln_1.", "attn_norm."},
    NamePair{"attn.c_attn.", "attn_qkv."},
    NamePair{"attn.c_proj.", "attn_output."},
    NamePair{"ln_2.", "ffn_norm."},
    NamePair{"mlp.c_fc.", "ffn_up."},
    NamePair{"mlp.c_proj.", "ffn_down."},
    NamePair{"input_layernorm.", "attn_norm."},
    NamePair{"self_attn.q_proj.", "attn_q."},
    NamePair{"self_attn.k_proj.", "attn_k."},
    NamePair{"self_attn.v_proj.", "attn_v."},
    NamePair{"self_attn.o_proj.", "attn_output."},
    NamePair{"self_attn.q_norm.", "attn_q_norm."},
    NamePair{"self_attn.k_norm.", "attn_k_norm."},
    NamePair{"post_attention_layernorm.", "ffn_norm."},
    NamePair{"mlp.gate_proj.", "ffn_gate."},
    NamePair{"mlp.up_proj.", "ffn_up."},
    NamePair{"mlp.down_proj.", "ffn_down."}};

// The name with its beginning replaced; empty if no pair has it.
std::string replaced(std::span<const NamePair> pairs, std::string_view name) {
  const auto found = std::ranges::find_if(
      pairs, [&](const auto& pair) { return name.starts_with(pair.first); });
  if (found == pairs.end()) return "";
  return std::string(found->second) +
         std::string(name.substr(found->first.size()));
}

// Under the architecture's name.
class Section {
 public:
  Section(std::string_view architecture, GgufKeys& keys)
      : architecture_(architecture), keys_(keys) {}

  void size(std::string_view key, std::int64_t value) {
    keys_.put(name(key), static_cast<std::uint32_t>(value));
  }
  void number(std::string_view key, float value) {
    keys_.put(name(key), value);
  }
  void text(std::string_view key, std::string_view value) {
    keys_.put(name(key), value);
  }

 private:
  std::string name(std::string_view key) const {
    return fmt::format("{}.{}", architecture_, key);
  }

  std::string_view architecture_;
  GgufKeys& keys_;
};

template <class Options>
void put_common(const Options& options, Section& section) {
  section.size("context_length", options.context);
  section.size("embedding_length", options.width);
  section.size("block_count", options.layers);
  section.size("vocab_size", options.vocab);
  section.size("attention.head_count", options.heads);
}

void put_keys(const Gpt2Options& options, Section& section) {
  put_common(options, section);
  section.size("feed_forward_length", 4 * options.width);
  section.number("attention.layer_norm_epsilon", options.norm_eps);
}

void put_keys(const LlamaOptions& options, Section& section) {
  put_common(options, section);
  section.size("feed_forward_length", options.hidden);
  section.size("attention.head_count_kv", options.kv_heads);
  section.size("attention.key_length", options.head_width);
  section.size("attention.value_length", options.head_width);
  section.number("attention.layer_norm_rms_epsilon", options.norm_eps);
  if (options.window > 0)
    section.size("attention.sliding_window", options.window);
  section.size("rope.dimension_count", options.head_width);
  section.number("rope.freq_base", options.rotary.theta);
  if (options.rotary.scaling != Scaling::kLinear) return;
  section.text("rope.scaling.type", "linear");
  section.number("rope.scaling.factor", options.rotary.factor);
}

}  // namespace

std::string gguf_architecture(const Description& description,
                              const std::string& source) {
  const std::string& family = description.family;
  if (family == "mistral") return "llama";
  for (const char* known : {"gpt2", "llama", "qwen2", "qwen3"})
    if (family == known) return family;
  throw UsageError(fmt::format(
      "{}: no architecture of GGUF that Quire writes (gpt2, llama, qwen2, "
      "qwen3) has this model's options; choose another format",
      source));
}

void put_model_keys(const Description& description,
                    std::string_view architecture, GgufKeys& keys) {
  Section section(architecture, keys);
  std::visit([&](const auto& options) { put_keys(options, section); },
             description.options);
}

std::string gguf_name(std::string_view parameter) {
  std::string name = replaced(kOutside, parameter);
  if (!name.empty()) return name;
  // "h.3.REST" and "layers.3.REST"
  const auto number = std::min(parameter.find('.'), parameter.size() - 1) + 1;
  const auto end = std::min(parameter.find('.', number), parameter.size() - 1);
  name = replaced(kInBlocks, parameter.substr(end + 1));
  if (name.empty())
    throw UsageError(
        fmt::format("GGUF has no name for the parameter {}", parameter));
  return fmt::format("blk.{}.{}", parameter.substr(number, end - number), name);
}

std::vector<float> rope_divisors(const LlamaOptions& options) {
  std::vector<float> divisors;
  if (options.rotary.scaling != Scaling::kLlama3) return divisors;
  const auto width = static_cast<double>(options.head_width);
  for (std::int64_t i = 0; i < options.head_width / 2; ++i) {
    const double frequency = std::pow(static_cast<double>(options.rotary.theta),
                                      -2.0 * static_cast<double>(i) / width);
    const double scaled = nn::scaled_frequency(frequency, options.rotary);
    divisors.push_back(static_cast<float>(frequency / scaled));
  }
  return divisors;
}

std::vector<std::string> gguf_warnings(const Description& description) {
  const auto* llama = std::get_if<LlamaOptions>(&description.options);
  if (llama == nullptr || llama->window == 0) return {};
  return {fmt::format(
      "the window of {} tokens is written as a key that readers may pass over: "
      "their values can differ behind as many tokens",
      llama->window)};
}

}  // namespace quire::convert
