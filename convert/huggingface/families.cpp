#include "quire/convert/huggingface/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "quire/convert/huggingface/config.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

constexpr std::array kFamilies = {Family{.name = "llama",
                                         .architecture = "LlamaForCausalLM",
                                         .hidden = 11008,
                                         .context = 2048,
                                         .vocab = 32000,
                                         .kv_heads = 0,
                                         .head_width = 0,
                                         .qkv_bias = false,
                                         .qk_norm = false,
                                         .attention_bias = true,
                                         .mlp_bias = true,
                                         .window = Family::Window::kNone},
                                  Family{.name = "mistral",
                                         .architecture = "MistralForCausalLM",
                                         .hidden = 14336,
                                         .context = 131072,
                                         .vocab = 32000,
                                         .kv_heads = 8,
                                         .head_width = 0,
                                         .qkv_bias = false,
                                         .qk_norm = false,
                                         .attention_bias = false,
                                         .mlp_bias = false,
                                         .window = Family::Window::kAll},
                                  Family{.name = "qwen2",
                                         .architecture = "Qwen2ForCausalLM",
                                         .hidden = 22016,
                                         .context = 32768,
                                         .vocab = 151936,
                                         .kv_heads = 32,
                                         .head_width = 0,
                                         .qkv_bias = true,
                                         .qk_norm = false,
                                         .attention_bias = false,
                                         .mlp_bias = false,
                                         .window = Family::Window::kByLayer},
                                  Family{.name = "qwen3",
                                         .architecture = "Qwen3ForCausalLM",
                                         .hidden = 22016,
                                         .context = 32768,
                                         .vocab = 151936,
                                         .kv_heads = 32,
                                         .head_width = 128,
                                         .qkv_bias = false,
                                         .qk_norm = true,
                                         .attention_bias = true,
                                         .mlp_bias = false,
                                         .window = Family::Window::kByLayer}};

bool says_biases(const Family& family, const models::LlamaOptions& options) {
  if (options.mlp_bias && !family.mlp_bias) return false;
  if (family.qkv_bias) return options.qkv_bias && !options.output_bias;
  if (options.qkv_bias != options.output_bias) return false;
  return !options.qkv_bias || family.attention_bias;
}

}  // namespace

std::span<const Family> llama_families() { return kFamilies; }

const Family* find_family(std::string_view name) {
  const auto found = std::ranges::find(kFamilies, name, &Family::name);
  return found == kFamilies.end() ? nullptr : &*found;
}

bool can_say(const Family& family, const models::LlamaOptions& options) {
  const bool windows = family.window != Family::Window::kNone;
  return family.qk_norm == options.qk_norm &&
         (options.window == 0 || windows) && says_biases(family, options);
}

std::string family_of(const models::Options& options, std::string_view wanted) {
  const auto* llama = std::get_if<models::LlamaOptions>(&options);
  if (llama == nullptr) return "gpt2";
  const Family* asked = find_family(wanted);
  if (asked != nullptr && can_say(*asked, *llama)) return std::string(wanted);
  for (const Family& family : kFamilies)
    if (can_say(family, *llama)) return std::string(family.name);
  throw UsageError(fmt::format(
      "no family of Hugging Face has biases of q, k, v {}, of o {} and of the "
      "feed-forward {}, norms of q and k {} and a window of {} together",
      llama->qkv_bias, llama->output_bias, llama->mlp_bias, llama->qk_norm,
      llama->window));
}

}  // namespace quire::convert
