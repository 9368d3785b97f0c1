#include "quire/convert/huggingface/names.h"

namespace quire::convert {
namespace {

bool is_gpt2(const models::Options& options) {
  return std::holds_alternative<models::Gpt2Options>(options);
}

}  // namespace

std::string_view prefix_of(const models::Options& options) {
  return is_gpt2(options) ? "transformer." : "model.";
}

// The tables, the last norm and the head lie outside of any layer there.
std::string plain_name(std::string_view parameter) {
  for (const std::string_view layer : {"embed.", "head."})
    if (parameter.starts_with(layer)) parameter.remove_prefix(layer.size());
  return std::string(parameter);
}

std::string full_name(const models::Options& options,
                      std::string_view parameter) {
  const std::string plain = plain_name(parameter);
  return plain == kHead ? plain : std::string(prefix_of(options)) + plain;
}

std::string_view tied_table(const models::Options& options) {
  if (is_gpt2(options)) return "wte.weight";
  return std::get<models::LlamaOptions>(options).tied_head
             ? "embed_tokens.weight"
             : "";
}

bool is_transposed(const models::Options& options, std::string_view parameter) {
  return is_gpt2(options) && parameter.starts_with("h.") &&
         parameter.ends_with(".weight") &&
         parameter.find(".c_") != std::string_view::npos;
}

bool is_buffer(const models::Options& options, std::string_view plain) {
  if (is_gpt2(options))
    return plain.ends_with(".attn.bias") ||
           plain.ends_with(".attn.masked_bias");
  return plain.ends_with("rotary_emb.inv_freq");
}

}  // namespace quire::convert
