#include <fmt/format.h>

#include "quire/convert/huggingface/config_read.h"

namespace quire::convert {
namespace {

using checkpoint::Json;

double rate_of(ConfigKeys& keys, std::string_view key) {
  constexpr double kMissing = 0.1;
  const auto value = keys.given(key);
  if (!value) return kMissing;
  if (!(value->real() >= 0.0 && static_cast<float>(value->real()) < 1.0f))
    value->refuse("a rate of at least 0 and less than 1");
  return value->real();
}

float read_dropout(ConfigKeys& keys, std::vector<std::string>& warnings) {
  const double residual = rate_of(keys, "resid_pdrop");
  const double embedding = rate_of(keys, "embd_pdrop");
  const double attention = rate_of(keys, "attn_pdrop");
  if (residual != embedding || residual != attention)
    warnings.push_back(fmt::format(
        "{}: resid_pdrop {}, embd_pdrop {} and attn_pdrop {} differ; the first "
        "is taken for all",
        keys.json().where(), residual, embedding, attention));
  return static_cast<float>(residual);
}

// The old name counts where the new one is missing.
std::int64_t read_context(ConfigKeys& keys,
                          std::vector<std::string>& warnings) {
  const auto old = keys.given("n_ctx");
  const bool only_old = old && !keys.stands("n_positions");
  const std::int64_t context =
      keys.size(only_old ? "n_ctx" : "n_positions", {1024, kMostVocab});
  keys.pass({"n_positions"});
  if (old && old->integer() != context)
    warnings.push_back(
        fmt::format("{}: n_ctx {} is not n_positions {}; the latter is taken",
                    keys.json().where(), old->integer(), context));
  return context;
}

void require_gpt2(ConfigKeys& keys) {
  keys.require_flag("scale_attn_weights", true);
  keys.require_flag("scale_attn_by_inverse_layer_idx", false);
  keys.require_flag("tie_word_embeddings", true);
  // Three names of one function.
  keys.require_one_of("activation_function",
                      {"gelu_new", "gelu_pytorch_tanh", "gelu_fast"});
}

void require_inner(ConfigKeys& keys, std::int64_t width) {
  const auto inner = keys.given("n_inner");
  if (inner && inner->integer() != 4 * width)
    inner->refuse(fmt::format(
        "null or {}, four times n_embd: nothing else is supported", 4 * width));
}

}  // namespace

models::Gpt2Options read_gpt2(ConfigKeys& keys,
                              std::vector<std::string>& warnings) {
  require_gpt2(keys);
  models::Gpt2Options options{
      .layers = keys.size("n_layer", {12, kMostLayers}),
      .width = keys.size("n_embd", {768, kMostWidth}),
      .heads = keys.size("n_head", {12, kMostWidth}),
      .context = read_context(keys, warnings),
      .vocab = keys.size("vocab_size", {50257, kMostVocab}),
      .dropout = read_dropout(keys, warnings),
      .norm_eps = keys.real("layer_norm_epsilon", 0.0f).value_or(1e-5f)};
  require_inner(keys, options.width);
  if (options.width % options.heads != 0) {
    const auto heads = keys.given("n_head");
    (heads ? *heads : keys.json().at("n_embd"))
        .refuse(fmt::format("n_head {} to divide n_embd {}", options.heads,
                            options.width));
  }
  return options;
}

}  // namespace quire::convert
