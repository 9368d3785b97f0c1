#include "quire/data/detail/merges_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "quire/core/error.h"
#include "quire/data/detail/byte_spelling.h"
#include "quire/data/detail/in_quotes.h"
#include "quire/data/detail/json_text.h"

namespace quire::data {
namespace {

constexpr const char* kGpt2End = "<|endoftext|>";

// Neither a byte nor what a merge makes.
std::vector<AddedToken> unmade_tokens(const BpeParts& parts) {
  std::vector<bool> made(parts.tokens.size());
  for (const Merge& merge : parts.merges)
    made[static_cast<std::size_t>(merge.result)] = true;
  std::vector<AddedToken> unmade;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!made[i] && parts.tokens[i].size() > 1)
      unmade.push_back({.text = parts.tokens[i],
                        .id = static_cast<std::int32_t>(i),
                        .special = true});
  }
  return unmade;
}

}  // namespace

void each_merge(const TokenizerText& merges, const VisitMerge& visit) {
  std::string_view rest = merges.text;
  for (int line = 1; !rest.empty(); ++line) {
    std::string_view words = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), words.size() + 1));
    if (words.ends_with('\r')) words.remove_suffix(1);
    if (line == 1 && words.starts_with("#version")) continue;
    if (words.empty() && rest.find_first_not_of("\r\n") == rest.npos) break;
    const std::string where = fmt::format("{}: line {}", merges.source, line);
    const std::size_t space = words.find(' ');
    if (space == words.npos || space != words.rfind(' ')) {
      throw UsageError(
          fmt::format("{} is {}; expected two tokens, one space "
                      "between them",
                      where, in_quotes(words)));
    }
    visit(words.substr(0, space), words.substr(space + 1), where);
  }
}

BpeParts gpt2_parts(const TokenizerText& merges) {
  BpeParts parts;
  parts.name = "gpt2";
  parts.source = merges.source;
  parts.patterns = {std::string(kGpt2Pattern)};
  Spellings spellings(merges.source);
  for (std::string& byte : spelled_bytes())
    spellings.add(std::move(byte), static_cast<std::int64_t>(spellings.size()));
  each_merge(merges, [&](auto left, auto right, const std::string& where) {
    spellings.add(std::string(left).append(right),
                  static_cast<std::int64_t>(spellings.size()));
    parts.merges.push_back(spellings.merge(left, right, where));
  });
  parts.tokens = spellings.tokens({}, bytes_of_spelling);
  parts.added = {{.text = kGpt2End,
                  .id = static_cast<std::int32_t>(spellings.size()),
                  .special = true}};
  place_added_tokens(parts);
  return parts;
}

BpeParts vocabulary_parts(const TokenizerText& vocabulary,
                          const TokenizerText& merges) {
  BpeParts parts;
  parts.name = vocabulary.source;
  parts.source = merges.source;
  parts.patterns = {std::string(kGpt2Pattern)};
  Spellings spellings(vocabulary.source);
  const Json document = parse_json(vocabulary.text, vocabulary.source);
  const JsonAt root = {.value = &document, .where = vocabulary.source};
  for (const auto& [token, id] : root.object().items())
    spellings.add(
        token,
        JsonAt{&id, vocabulary.source + ": " + in_quotes(token)}.integer());
  each_merge(merges, [&](auto left, auto right, const std::string& where) {
    parts.merges.push_back(spellings.merge(left, right, where));
  });
  parts.tokens = spellings.tokens({}, bytes_of_spelling);
  parts.added = unmade_tokens(parts);
  return parts;
}

}  // namespace quire::data
