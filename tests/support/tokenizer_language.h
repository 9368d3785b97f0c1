// Small tokenizers, as their files would have them.
#pragma once

#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "quire/data/bpe_tokenizer.h"
#include "quire/data/text_encoder.h"

namespace quire::testing {

using Json = nlohmann::json;
using Texts = std::vector<std::string>;

// Their own patterns, as they publish them.
inline constexpr const char* kLlama3Pattern =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
inline constexpr const char* kQwenPattern =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

inline std::string utf8_of(int code_point) {
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  return {static_cast<char>(0xc0 | code_point >> 6),
          static_cast<char>(0x80 | (code_point & 0x3f))};
}

// How a vocabulary spells each byte.
inline std::string spelled(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const int byte = static_cast<unsigned char>(c);
    const auto own = [](int b) {
      return (b > 32 && b < 127) || (b > 160 && b != 173);
    };
    int others = 0;
    for (int b = 0; b < byte; ++b) others += own(b) ? 0 : 1;
    text += utf8_of(own(byte) ? byte : 256 + others);
  }
  return text;
}

// Byte b is id b; then `tokens` from 256 on.
inline Json byte_vocabulary(const Texts& tokens = {}) {
  Json vocabulary = Json::object();
  for (int byte = 0; byte < 256; ++byte)
    vocabulary[spelled(std::string(1, static_cast<char>(byte)))] = byte;
  for (const std::string& token : tokens) {
    if (token.size() > 1) vocabulary[spelled(token)] = vocabulary.size();
  }
  return vocabulary;
}

inline Json split_by(const char* pattern) {
  return {{"type", "Sequence"},
          {"pretokenizers",
           {{{"type", "Split"},
             {"pattern", {{"Regex", pattern}}},
             {"behavior", "Isolated"},
             {"invert", false}},
            {{"type", "ByteLevel"},
             {"add_prefix_space", false},
             {"trim_offsets", false},
             {"use_regex", false}}}}};
}

// tokenizer.json of the bytes and these tokens, without merges, cut by GPT-2's
// pattern.
inline Json tokenizer_json(const Texts& tokens = {}) {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", Json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer",
           {{"type", "ByteLevel"},
            {"add_prefix_space", false},
            {"trim_offsets", true}}},
          {"post_processor", nullptr},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", ""},
            {"end_of_word_suffix", ""},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"vocab", byte_vocabulary(tokens)},
            {"merges", Json::array()}}}};
}

inline Json added_token(const std::string& text, int id, bool special) {
  return {{"id", id},          {"content", text}, {"single_word", false},
          {"lstrip", false},   {"rstrip", false}, {"normalized", false},
          {"special", special}};
}

inline std::unique_ptr<data::Tokenizer> parsed(const Json& json) {
  const std::string text = json.dump();
  return data::parse_tokenizer_json({.text = text, .source = "the.json"});
}

// The ids of a text that comes in blocks of so many bytes.
inline std::vector<std::int32_t> in_blocks(
    const data::Tokenizer& tokenizer, std::string_view text, std::size_t block,
    data::Specials specials = data::Specials::kAsText) {
  data::TextEncoder encoder(tokenizer, specials);
  std::vector<std::int32_t> ids;
  const auto take = [&](std::span<const std::int32_t> more) {
    ids.insert(ids.end(), more.begin(), more.end());
  };
  for (; !text.empty(); text.remove_prefix(std::min(block, text.size())))
    take(encoder.add(text.substr(0, block)));
  take(encoder.finish());
  return ids;
}

inline Texts each_decoded(const data::Tokenizer& tokenizer,
                          const std::vector<std::int32_t>& ids) {
  Texts texts;
  for (const std::int32_t id : ids)
    texts.push_back(tokenizer.decode(std::span(&id, 1)));
  return texts;
}

inline std::string joined(const Texts& texts) {
  std::string all;
  for (const std::string& text : texts) all += text;
  return all;
}

}  // namespace quire::testing
