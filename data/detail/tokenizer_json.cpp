#include "quire/data/detail/tokenizer_json.h"

#include <fmt/format.h>

#include "quire/core/error.h"
#include "quire/data/detail/byte_spelling.h"
#include "quire/data/detail/in_quotes.h"

namespace quire::data {
namespace {

void require_absent(const JsonAt& model, const char* key) {
  const JsonAt at = model.at(key);
  const Json& value = *at.value;
  const bool nothing = value.is_null() || value == false || value == "" ||
                       (value.is_number() && value == 0);
  if (!nothing)
    at.refuse(
        "none; tokenize with the model's own tools and write token files");
}

void require_model(const JsonAt& model) {
  const JsonAt type = model.at("type");  // old files have none
  if (!type.is_null() && type.text() != "BPE") {
    type.refuse(
        "\"BPE\"; tokenize with the model's own tools and write token files");
  }
  for (const char* key :
       {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
    require_absent(model, key);
}

void require_nfc(const JsonAt& normalizer) {
  const JsonAt type = normalizer.at("type");
  if (type.text() != "NFC")
    type.refuse("\"NFC\", or a \"Sequence\" of it, or no normalizer");
}

// NFC, also as a sequence of it alone.
bool has_nfc(const JsonAt& normalizer) {
  if (normalizer.is_null()) return false;
  if (normalizer.at("type").text() != "Sequence") {
    require_nfc(normalizer);
    return true;
  }
  const JsonAt list = normalizer.at("normalizers");
  for (std::size_t i = 0; i < list.array().size(); ++i) require_nfc(list.at(i));
  return !list.value->empty();
}

void require_decoder(const JsonAt& decoder) {
  if (!decoder.is_null() && decoder.at("type").text() != "ByteLevel")
    decoder.at("type").refuse("\"ByteLevel\"");
}

AddedToken added_token(const JsonAt& at) {
  for (const char* key : {"single_word", "lstrip", "rstrip"})
    if (at.at(key).flag()) at.at(key).refuse("false");
  const std::int64_t id = at.at("id").integer();
  if (id < 0 || id >= kMostIds)
    at.at("id").refuse(fmt::format("0 to {}", kMostIds - 1));
  return {.text = at.at("content").text(),
          .id = static_cast<std::int32_t>(id),
          .special = at.at("special").flag(),
          .normalized = at.at("normalized").flag()};
}

std::vector<AddedToken> added_tokens(const JsonAt& list) {
  std::vector<AddedToken> tokens;
  if (list.is_null()) return tokens;
  for (std::size_t i = 0; i < list.array().size(); ++i)
    tokens.push_back(added_token(list.at(i)));
  return tokens;
}

Spellings vocabulary(const JsonAt& vocab, const std::string& source) {
  Spellings spellings(source);
  for (const auto& [token, id] : vocab.object().items()) {
    const JsonAt at = {.value = &id,
                       .where = vocab.where + "." + in_quotes(token)};
    spellings.add(token, at.integer());
  }
  return spellings;
}

// "a b" in files until 2024, ["a", "b"] since.
Merge merge_at(const JsonAt& at, const Spellings& spellings) {
  if (at.value->is_array()) {
    if (at.value->size() != 2) at.refuse("two tokens");
    return spellings.merge(at.at(std::size_t{0}).text(),
                           at.at(std::size_t{1}).text(), at.where);
  }
  const std::string_view words = at.text();
  const std::size_t space = words.find(' ');
  if (space == words.npos || space != words.rfind(' '))
    at.refuse("two tokens with one space between them");
  return spellings.merge(words.substr(0, space), words.substr(space + 1),
                         at.where);
}

void require_same_ids(const BpeParts& parts, const Spellings& spellings) {
  for (const AddedToken& token : parts.added) {
    const std::int32_t id = spellings.find(token.text);
    if (id < 0 || id == token.id) continue;
    throw UsageError(
        fmt::format("{}: the token {} has id {} as an added token and {} in "
                    "the vocabulary; expected the same",
                    parts.source, in_quotes(token.text), token.id, id));
  }
}

void read_byte_level(const JsonAt& root, const Spellings& spellings,
                     BpeParts& parts) {
  parts.nfc = has_nfc(root.at("normalizer"));
  require_decoder(root.at("decoder"));
  parts.patterns = patterns_of(root.at("pre_tokenizer"));
  parts.ignore_merges = root.at("model").at("ignore_merges").flag();
  parts.tokens = spellings.tokens(parts.added, bytes_of_spelling);
}

}  // namespace

BpeParts tokenizer_json_parts(const TokenizerText& file) {
  const Json document = parse_json(file.text, file.source);
  const JsonAt root = {.value = &document, .where = file.source};
  BpeParts parts;
  parts.name = parts.source = file.source;
  const JsonAt model = root.at("model");
  require_model(model);
  parts.added = added_tokens(root.at("added_tokens"));
  const Spellings spellings = vocabulary(model.at("vocab"), parts.source);
  const JsonAt merges = model.at("merges");
  for (std::size_t i = 0; i < merges.array().size(); ++i)
    parts.merges.push_back(merge_at(merges.at(i), spellings));
  require_same_ids(parts, spellings);
  if (model.at("byte_fallback").flag())
    read_metaspace(root, spellings, parts);
  else
    read_byte_level(root, spellings, parts);
  place_added_tokens(parts);
  parts.frame = frame_of(root.at("post_processor"), parts);
  show_blanks(parts);
  return parts;
}

}  // namespace quire::data
