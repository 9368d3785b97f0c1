#include "quire/data/detail/tokenizer_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "quire/data/detail/json_text.h"

namespace quire::data {
namespace {

// Of the token that `key` names, if `wanted` says that it is put there.
std::vector<std::int32_t> ids_of(const JsonAt& root, const char* wanted,
                                 const char* key, const BpeParts& parts) {
  if (!root.at(wanted).flag()) return {};
  const JsonAt at = root.at(key);
  const bool named = root.object().contains(key);
  if (named && at.is_null()) return {};
  const JsonAt text = at.value->is_object() ? at.at("content") : at;
  const std::string token = named ? text.text() : "<|endoftext|>";
  const auto found = std::ranges::find(parts.tokens, token);
  if (token.empty() || found == parts.tokens.end())
    text.refuse(fmt::format("a token of {}", parts.name));
  return {static_cast<std::int32_t>(found - parts.tokens.begin())};
}

}  // namespace

Frame config_frame(const TokenizerText& config, const BpeParts& parts) {
  const Json document = parse_json(config.text, config.source);
  const JsonAt root = {.value = &document, .where = config.source};
  return {.before = ids_of(root, "add_bos_token", "bos_token", parts),
          .after = ids_of(root, "add_eos_token", "eos_token", parts)};
}

}  // namespace quire::data
