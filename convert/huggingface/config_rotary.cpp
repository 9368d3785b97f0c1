#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "quire/convert/huggingface/config_read.h"

namespace quire::convert {
namespace {

using checkpoint::Json;
using nn::RotaryOptions;
using Scaling = RotaryOptions::Scaling;

std::optional<Json> given(const Json& json, std::string_view key) {
  auto found = json.find(key);
  if (found && found->is_null()) return std::nullopt;
  return found;
}

void require_whole_heads(const std::optional<Json>& part) {
  if (part && part->real() != 1.0)
    part->refuse("1: heads that are rotated in part are not supported");
}

// Some change the frequencies of some types only; none is overlooked.
void refuse_strangers(const Json& json) {
  constexpr std::array<std::string_view, 8> kKnown = {
      "rope_type",
      "type",
      "rope_theta",
      "factor",
      "low_freq_factor",
      "high_freq_factor",
      "partial_rotary_factor",
      "original_max_position_embeddings"};
  for (const auto& [key, value] : json.members())
    if (std::ranges::find(kKnown, key) == kKnown.end() && !value.is_null())
      value.refuse("no such key: it is not supported");
  require_whole_heads(given(json, "partial_rotary_factor"));
}

Scaling scaling_of(const Json& json) {
  auto type = given(json, "rope_type");
  if (!type) type = given(json, "type");
  if (!type || type->string() == "default") return Scaling::kDefault;
  if (type->string() == "linear") return Scaling::kLinear;
  if (type->string() == "llama3") return Scaling::kLlama3;
  type->refuse("\"default\", \"linear\" or \"llama3\"");
}

// The new key or the old one, without theta. The type first: other types have
// other keys.
RotaryOptions read_scaling(const Json& json, std::int64_t context) {
  RotaryOptions options{.scaling = scaling_of(json)};
  refuse_strangers(json);
  if (options.scaling == Scaling::kDefault) return options;
  options.factor = real_of(json.at("factor"), 0.0f);
  if (options.scaling == Scaling::kLinear) return options;
  options.low_frequency_factor = real_of(json.at("low_freq_factor"), 0.0f);
  options.high_frequency_factor =
      real_of(json.at("high_freq_factor"), options.low_frequency_factor);
  const auto original = given(json, "original_max_position_embeddings");
  options.original_context =
      original ? original->integer(1, kMostContext) : context;
  return options;
}

// Where theta stands; all places must say the same.
float read_theta(ConfigKeys& keys) {
  std::optional<Json> first = keys.given("rope_theta");
  for (const std::string_view key : {"rope_parameters", "rope_scaling"}) {
    const auto holder = keys.given(key);
    const auto theta = holder ? given(*holder, "rope_theta") : std::nullopt;
    if (theta && first && theta->real() != first->real())
      theta->refuse(
          fmt::format("{}, as {} says", first->text(), first->where()));
    if (theta) first = theta;
  }
  return first ? real_of(*first, 0.0f) : 10000.0f;
}

}  // namespace

RotaryOptions read_rotary(ConfigKeys& keys, std::int64_t context) {
  require_whole_heads(keys.given("partial_rotary_factor"));
  const auto now = keys.given("rope_parameters");
  const auto old = keys.given("rope_scaling");
  RotaryOptions options;
  if (now) options = read_scaling(*now, context);
  if (old) {
    const RotaryOptions other = read_scaling(*old, context);
    if (now && !(other == options))
      old->refuse("what rope_parameters says; the two differ");
    options = other;
  }
  options.theta = read_theta(keys);
  return options;
}

}  // namespace quire::convert
