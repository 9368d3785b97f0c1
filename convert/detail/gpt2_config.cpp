#include "quire/convert/detail/gpt2_config.h"

#include <fmt/format.h>

#include <optional>

#include "quire/checkpoint/files.h"
#include "quire/checkpoint/json.h"
#include "quire/core/error.h"

namespace quire::convert {
namespace {

using checkpoint::Json;

constexpr std::int64_t kMostConfig = 1 << 20;
// Far above any model; keeps every product of two within 63 bits.
constexpr std::int64_t kMostExtent = std::int64_t{1} << 28;

std::optional<Json> given(const Json& json, std::string_view key) {
  auto found = json.find(key);
  if (found && found->is_null()) return std::nullopt;
  return found;
}

std::int64_t extent(const Json& json, std::string_view key) {
  return json.at(key).integer(1, kMostExtent);
}

// Keys that change what the network computes must have the value that it is
// built for.
void require_flag(const Json& json, std::string_view key, bool wanted) {
  const auto value = given(json, key);
  if (value && value->boolean() != wanted)
    value->refuse(wanted ? "true: nothing else is supported"
                         : "false: nothing else is supported");
}

void require_gpt2(const Json& json) {
  const Json type = json.at("model_type");
  if (type.string() != "gpt2")
    type.refuse("\"gpt2\": no other model type is supported");
  require_flag(json, "scale_attn_weights", true);
  require_flag(json, "scale_attn_by_inverse_layer_idx", false);
  require_flag(json, "add_cross_attention", false);
  require_flag(json, "tie_word_embeddings", true);
  const auto activation = given(json, "activation_function");
  if (activation && activation->string() != "gelu_new" &&
      activation->string() != "gelu_pytorch_tanh")
    activation->refuse("\"gelu_new\": nothing else is supported");
}

float dropout_of(const Json& json, std::vector<std::string>& warnings) {
  constexpr double kDefault = 0.1;
  const auto rate = [&](std::string_view key) {
    const auto value = given(json, key);
    if (!value) return kDefault;
    if (!(value->real() >= 0.0 && value->real() < 1.0))
      value->refuse("a rate of at least 0 and less than 1");
    return value->real();
  };
  const double residual = rate("resid_pdrop");
  const double embedding = rate("embd_pdrop");
  const double attention = rate("attn_pdrop");
  if (residual != embedding || residual != attention)
    warnings.push_back(fmt::format(
        "{}: resid_pdrop {}, embd_pdrop {} and attn_pdrop {} differ; the first "
        "is taken for all",
        json.where(), residual, embedding, attention));
  return static_cast<float>(residual);
}

}  // namespace

models::Gpt2Options read_gpt2_config(const std::string& path,
                                     std::vector<std::string>& warnings) {
  const Json json = Json::parse(checkpoint::read_text(path, kMostConfig), path);
  require_gpt2(json);
  models::Gpt2Options options{
      .layers = extent(json, "n_layer"),
      .width = extent(json, "n_embd"),
      .heads = extent(json, "n_head"),
      .context =
          extent(json, json.find("n_positions") ? "n_positions" : "n_ctx"),
      .vocab = extent(json, "vocab_size"),
      .dropout = dropout_of(json, warnings)};
  if (options.width % options.heads != 0)
    json.at("n_head").refuse(
        fmt::format("a divisor of n_embd {}", options.width));
  const auto inner = given(json, "n_inner");
  if (inner && inner->integer() != 4 * options.width)
    inner->refuse(
        fmt::format("null or {}, four times n_embd: nothing else is "
                    "supported",
                    4 * options.width));
  const auto eps = given(json, "layer_norm_epsilon");
  if (eps && !(eps->real() > 0.0 && eps->real() < 1.0))
    eps->refuse("a number above 0 and below 1");
  if (eps) options.norm_eps = static_cast<float>(eps->real());
  return options;
}

}  // namespace quire::convert
