// The keys of the model section: one for every option that a model of any type
// has, under the name that each_field gives it.
#include <fmt/format.h>

#include <algorithm>

#include "quire/core/error.h"
#include "quire/train/keys/kinds.h"

namespace quire::train {
namespace {

// A plan of this many is made within seconds.
constexpr std::int64_t kMostLayers = 4096;
constexpr std::int64_t kMostWidth = 1 << 20;
constexpr std::int64_t kMostIds = (std::int64_t{1} << 31) - 1;

std::vector<std::string> strings(std::span<const std::string_view> names) {
  return {names.begin(), names.end()};
}

// nullptr: the model's type has no such option.
template <class T>
T* option(models::Options& model, std::string_view name) {
  T* found = nullptr;
  const auto look = [&](std::string_view field, auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, T>)
      if (field == name) found = &value;
  };
  std::visit([&](auto& options) { models::each_field(options, look); }, model);
  return found;
}

template <class T>
Field<T> option_of(const std::string& name) {
  return [name](RunConfig& config) -> T& {
    if (T* found = option<T>(config.model, name)) return *found;
    throw UsageError(fmt::format("model.type {} has no option {}",
                                 models::type_of(config.model), name));
  };
}

// `key`, of the types that have an option of T under its name.
template <class T>
Key for_types(Key key) {
  const std::string name = key.name.substr(key.name.find('.') + 1);
  for (const std::string_view type : models::kTypes) {
    models::Options options = models::options_of(type);
    if (option<T>(options, name) != nullptr) key.models.emplace_back(type);
  }
  if (key.models.size() == models::kTypes.size()) key.models.clear();
  return key;
}

// `name` of the following is the option's.
Key size(const std::string& name, std::string description, std::int64_t most) {
  return for_types<std::int64_t>(
      whole({"model." + name, std::move(description)},
            {.least = 1, .most = most}, option_of<std::int64_t>(name)));
}

Key needed_size(const std::string& name, std::string description,
                std::int64_t most) {
  Key key = size(name, std::move(description), most);
  key.needed = true;
  return key;
}

Key count(const std::string& name, std::string description) {
  return for_types<std::int64_t>(
      whole({"model." + name, std::move(description)},
            {.least = 0, .most = kMostTokens}, option_of<std::int64_t>(name)));
}

Key number(const std::string& name, std::string description,
           const RealRange& range) {
  return for_types<float>(real({"model." + name, std::move(description)}, range,
                               option_of<float>(name)));
}

Key toggle(const std::string& name, std::string description) {
  return for_types<bool>(
      flag({"model." + name, std::move(description)}, option_of<bool>(name)));
}

Key or_else(std::string fallback, Key key) {
  key.fallback = std::move(fallback);
  return key;
}

Key type_key() {
  Key key = choice(
      {"model.type", "the family of networks"}, strings(models::kTypes),
      [](RunConfig& config, std::size_t i) {
        config.model = models::options_of(models::kTypes[i]);
      },
      [](const RunConfig& config) { return config.model.index(); });
  key.needed = true;
  return key;
}

Key scaling_key() {
  using Scaling = nn::RotaryOptions::Scaling;
  const auto field = option_of<Scaling>("rope_scaling");
  return for_types<Scaling>(choice(
      {"model.rope_scaling",
       "how rotary frequencies are stretched beyond the trained context"},
      strings(models::kScalings),
      [field](RunConfig& config, std::size_t i) {
        field(config) = static_cast<Scaling>(i);
      },
      [field](RunConfig config) {
        return static_cast<std::size_t>(field(config));
      }));
}

std::vector<Key> size_keys() {
  return {
      needed_size("layers", "blocks of attention and feed-forward",
                  kMostLayers),
      needed_size("width", "features of a token", kMostWidth),
      needed_size("heads",
                  "of attention; divides the width unless head_width is given",
                  kMostWidth),
      or_else("model.heads",
              size("kv_heads",
                   "of keys and values; each serves heads / kv_heads heads",
                   kMostWidth)),
      or_else("model.width / model.heads",
              size("head_width", "features of a head; even", kMostWidth)),
      needed_size("hidden", "features inside the feed-forward", kMostWidth),
      needed_size("context", "tokens that the model can see", kMostTokens),
      needed_size("vocab", "token ids; 256 with the bytes tokenizer", kMostIds),
  };
}

std::vector<Key> network_keys() {
  return {
      number("dropout",
             "of embeddings, attention probabilities and residual branches",
             kFraction),
      number("norm_eps", "added to the variance, or mean square, in norms",
             kAboveZero),
      number("rope_theta", "base of the rotary frequencies", kAboveZero),
      scaling_key(),
      number("rope_factor", "what linear and llama3 divide frequencies by",
             kAboveZero),
      number("rope_low_frequency_factor",
             "of llama3: waves longer than the original context over it are "
             "divided",
             kAboveZero),
      number("rope_high_frequency_factor",
             "of llama3: waves shorter than the original context over it stay",
             kAboveZero),
      count("rope_original_context", "of llama3: trained before the stretch"),
      count("window", "newest tokens that a token sees; 0: all before it"),
      toggle("qkv_bias", "biases of queries, keys and values"),
      toggle("output_bias", "a bias of the attention's output"),
      toggle("mlp_bias", "biases of the feed-forward"),
      toggle("qk_norm", "a norm of every head of queries and keys"),
      toggle("tied_head", "the head is the token table"),
  };
}

Key from_key() {
  return text(
      {"model.from",
       "a model whose values the run starts with: a Hugging Face folder, a "
       "checkpoint or run, a PyTorch DCP folder or an llm.c file; what is left "
       "out of this section is taken from it, and what is not must agree with "
       "it (a dropout may differ)"},
      [](RunConfig & c) -> auto& { return c.origin.from; });
}

std::vector<Key> origin_keys() {
  return {
      patterns(
          {"model.fresh",
           "parameters that are drawn anew and not taken from model.from, and "
           "whose shapes may differ from it: a new head"},
          [](RunConfig & c) -> auto& { return c.origin.fresh; }),
      patterns(
          {"model.ignore",
           "tensors of model.from for which the model has no place and which "
           "are not wanted"},
          [](RunConfig & c) -> auto& { return c.origin.ignore; }),
      rename_key(),
  };
}

void refuse_on_resume(std::vector<Key>& keys) {
  for (Key& key : keys) key.on_resume = OnResume::kRefused;
}

void append(std::vector<Key>& keys, std::vector<Key> more) {
  std::ranges::move(more, std::back_inserter(keys));
}

}  // namespace

std::vector<Key> model_keys() {
  std::vector<Key> decisive = {type_key()};
  append(decisive, size_keys());
  append(decisive, network_keys());
  decisive.push_back(patterns(
      {"model.freeze", "parameters that are not trained"},
      [](RunConfig & c) -> auto& { return c.freeze; }));
  refuse_on_resume(decisive);
  std::vector<Key> keys = {from_key()};
  append(keys, std::move(decisive));
  append(keys, origin_keys());
  return keys;
}

}  // namespace quire::train
