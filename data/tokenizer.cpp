#include "quire/data/tokenizer.h"

#include <fmt/format.h>

#include <filesystem>

#include "quire/core/error.h"
#include "quire/data/bpe_tokenizer.h"

namespace quire::data {

std::vector<std::int32_t> Tokenizer::encode(std::string_view text,
                                            Specials specials) const {
  std::vector<std::int32_t> ids;
  append({.text = text, .specials = specials}, ids);
  return ids;
}

std::vector<std::int32_t> Tokenizer::encode_prompt(
    std::string_view text) const {
  auto [ids, after] = frame();
  append({.text = text, .specials = Specials::kRecognise}, ids);
  ids.insert(ids.end(), after.begin(), after.end());
  return ids;
}

std::size_t BytesTokenizer::append(const TextPart& part,
                                   std::vector<std::int32_t>& ids) const {
  ids.reserve(ids.size() + part.text.size());
  for (const char c : part.text) ids.push_back(static_cast<unsigned char>(c));
  return part.text.size();
}

std::string BytesTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text(ids.size(), '\0');
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] > 255) {
      throw UsageError(fmt::format(
          "token {} has id {}, which the tokenizer \"bytes\" does not know; "
          "expected 0 to 255",
          i, ids[i]));
    }
    text[i] = static_cast<char>(ids[i]);
  }
  return text;
}

std::unique_ptr<Tokenizer> make_tokenizer(std::string_view name) {
  if (name == "bytes") return std::make_unique<BytesTokenizer>();
  if (name == "gpt2") return gpt2_tokenizer();
  std::error_code error;
  if (std::filesystem::is_directory(std::string(name), error))
    return open_tokenizer(std::string(name));
  throw UsageError(fmt::format(
      "there is no tokenizer \"{}\"; known are: bytes, gpt2, or a folder with "
      "tokenizer.json, or with vocab.json and merges.txt",
      name));
}

}  // namespace quire::data
