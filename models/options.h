// The models of this room by the options that make them, for whoever reads and
// writes them by name: configurations, checkpoints, conversions.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>

#include "quire/models/gpt2.h"
#include "quire/models/llama.h"

namespace quire::models {

using Options = std::variant<Gpt2Options, LlamaOptions>;

// The types' names, in the order of Options.
inline constexpr std::array<std::string_view, 2> kTypes = {"gpt2", "llama"};
static_assert(kTypes.size() == std::variant_size_v<Options>);
// Those of nn::RotaryOptions::Scaling, in its order.
inline constexpr std::array<std::string_view, 3> kScalings = {
    "default", "linear", "llama3"};

std::string_view type_of(const Options& options);
// The inverse, all sizes 0. UsageError naming the known types.
Options options_of(std::string_view type);

nn::Model build(const Options& options);
std::int64_t context_of(const Options& options);
std::int64_t vocab_of(const Options& options);

// Calls visit(name, field) for every option, in the order in which it is
// written; `name` is the one in a configuration ("model." in front there) and
// in a checkpoint. Fields are std::int64_t, float, bool, or
// nn::RotaryOptions::Scaling.
template <class O, class Visit>
requires std::same_as<std::remove_const_t<O>, Gpt2Options>
void each_field(O& o, Visit&& visit) {
  visit("layers", o.layers);
  visit("width", o.width);
  visit("heads", o.heads);
  visit("context", o.context);
  visit("vocab", o.vocab);
  visit("dropout", o.dropout);
  visit("norm_eps", o.norm_eps);
}

template <class O, class Visit>
requires std::same_as<std::remove_const_t<O>, LlamaOptions>
void each_field(O& o, Visit&& visit) {
  visit("layers", o.layers);
  visit("width", o.width);
  visit("heads", o.heads);
  visit("kv_heads", o.kv_heads);
  visit("head_width", o.head_width);
  visit("hidden", o.hidden);
  visit("context", o.context);
  visit("vocab", o.vocab);
  visit("norm_eps", o.norm_eps);
  visit("rope_theta", o.rotary.theta);
  visit("rope_scaling", o.rotary.scaling);
  visit("rope_factor", o.rotary.factor);
  visit("rope_low_frequency_factor", o.rotary.low_frequency_factor);
  visit("rope_high_frequency_factor", o.rotary.high_frequency_factor);
  visit("rope_original_context", o.rotary.original_context);
  visit("window", o.window);
  visit("qkv_bias", o.qkv_bias);
  visit("output_bias", o.output_bias);
  visit("mlp_bias", o.mlp_bias);
  visit("qk_norm", o.qk_norm);
  visit("tied_head", o.tied_head);
}

}  // namespace quire::models
