#include "quire/train/keys/model_section.h"

#include <fmt/format.h>

#include <algorithm>

#include "quire/core/error.h"
#include "quire/train/detail/origin.h"

namespace quire::train {
namespace {

using models::Gpt2Options;
using models::LlamaOptions;

// The text of a key; empty: left out, or no text, which is refused later.
std::string text_of(const ConfigDocument& document, const std::string& key) {
  const Json* value = document.find(key);
  return value != nullptr && value->is_string() ? value->get<std::string>()
                                                : std::string();
}

// What the section describes a model with: keys that a resolved configuration
// holds if they apply.
bool describes(const Key& key, const RunConfig& config) {
  return key.name.starts_with("model.") && applies(key, config) &&
         !key.get(config).is_null();
}

bool lacks_any(const ConfigDocument& document, const models::Options& options) {
  RunConfig config;
  config.model = options;
  for (const Key& key : key_table()) {
    if (describes(key, config) && document.find(key.name) == nullptr)
      return true;
  }
  return false;
}

bool is_type(const std::string& type) {
  return std::ranges::find(models::kTypes, type) != models::kTypes.end();
}

bool lacks_any(const ConfigDocument& document) {
  const std::string type = text_of(document, "model.type");
  return !is_type(type) || lacks_any(document, models::options_of(type));
}

// Before anything is filled: keys of one type are no keys of the other.
void require_type(const ConfigDocument& document, const models::Options& theirs,
                  const std::string& from) {
  const std::string type = text_of(document, "model.type");
  if (!is_type(type) || type == models::type_of(theirs)) return;
  RunConfig mine;
  mine.origin.from = from;
  mine.model = models::options_of(type);
  check_origin(document, mine, theirs);
}

models::Options options_of(const ConfigDocument& document,
                           const std::string& from) {
  try {
    return open_origin({.from = from})->description().options;
  } catch (const UsageError& error) {
    document.refuse("model.from", error.what());
  }
}

void require(const ConfigDocument& document, bool holds, const std::string& key,
             const std::string& problem) {
  if (!holds) document.refuse(key, key + " is " + problem);
}

void require_divisor(const ConfigDocument& document, std::int64_t heads,
                     std::int64_t width) {
  require(document, width % heads == 0, "model.heads",
          fmt::format("{}; expected a divisor of model.width, which is {}",
                      heads, width));
}

void settle(const ConfigDocument& document, Gpt2Options& model) {
  require_divisor(document, model.heads, model.width);
}

void check_heads(const ConfigDocument& document, const LlamaOptions& model) {
  require(document, model.heads % model.kv_heads == 0, "model.kv_heads",
          fmt::format("{}; expected a divisor of model.heads, which is {}",
                      model.kv_heads, model.heads));
  require(document, model.head_width % 2 == 0, "model.head_width",
          fmt::format("{}; expected an even number", model.head_width));
}

// What the scaling leaves without a meaning must be as if it were left out.
void check_rotary(const ConfigDocument& document,
                  const nn::RotaryOptions& rotary) {
  using Scaling = nn::RotaryOptions::Scaling;
  const nn::RotaryOptions defaults;
  require(
      document,
      rotary.scaling != Scaling::kDefault || rotary.factor == defaults.factor,
      "model.rope_factor",
      fmt::format("{}; expected model.rope_scaling linear or llama3 with "
                  "it",
                  rotary.factor));
  if (rotary.scaling != Scaling::kLlama3) return;
  require(document, rotary.original_context > 0, "model.rope_original_context",
          "0; expected at least 1 with model.rope_scaling llama3");
  require(
      document, rotary.high_frequency_factor > rotary.low_frequency_factor,
      "model.rope_high_frequency_factor",
      fmt::format("{}; expected more than model.rope_low_frequency_factor, "
                  "which is {}",
                  rotary.high_frequency_factor, rotary.low_frequency_factor));
}

void settle(const ConfigDocument& document, LlamaOptions& model) {
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  if (model.head_width == 0) {
    require_divisor(document, model.heads, model.width);
    model.head_width = model.width / model.heads;
  }
  check_heads(document, model);
  check_rotary(document, model.rotary);
}

void require_from(const ConfigDocument& document, const OriginConfig& origin) {
  if (!origin.from.empty()) return;
  const auto refuse = [&](const std::string& key) {
    document.refuse(key, key + " is given; expected model.from with it");
  };
  if (!origin.fresh.empty()) refuse("model.fresh");
  if (!origin.ignore.empty()) refuse("model.ignore");
  if (!origin.rename.empty()) refuse("model.rename");
}

}  // namespace

std::optional<models::Options> fill_model(ConfigDocument& document) {
  const std::string from = text_of(document, "model.from");
  const Json* given = document.find("model.from");
  if (from.empty() && given != nullptr && given->is_string())
    document.refuse("model.from", "model.from is empty; expected a path");
  if (from.empty() || !lacks_any(document)) return std::nullopt;
  RunConfig theirs;
  theirs.model = options_of(document, from);
  require_type(document, theirs.model, from);
  for (const Key& key : key_table()) {
    if (describes(key, theirs) && document.find(key.name) == nullptr)
      document.fill(key.name, key.get(theirs));
  }
  return theirs.model;
}

void settle_model(const ConfigDocument& document, RunConfig& config) {
  require_from(document, config.origin);
  std::visit([&](auto& options) { settle(document, options); }, config.model);
}

void check_origin(const ConfigDocument& document, const RunConfig& config,
                  const models::Options& theirs) {
  const auto found = disagreement(config, theirs);
  if (found) document.refuse(found->key, found->problem);
}

}  // namespace quire::train
