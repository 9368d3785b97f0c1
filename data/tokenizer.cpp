#include "quire/data/tokenizer.h"

#include <fmt/format.h>

#include "quire/core/error.h"

namespace quire::data {

std::vector<std::int32_t> BytesTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    ids[i] = static_cast<unsigned char>(text[i]);
  return ids;
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
  throw UsageError(
      fmt::format("there is no tokenizer \"{}\"; known are: bytes", name));
}

}  // namespace quire::data
