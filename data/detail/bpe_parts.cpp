#include "quire/data/detail/bpe_parts.h"

#include <fmt/format.h>

#include <unordered_set>

#include "quire/core/error.h"
#include "quire/data/detail/in_quotes.h"

namespace quire::data {
namespace {

void require_id(const std::string& source, std::string_view token,
                std::int64_t id) {
  if (id >= 0 && id < kMostIds) return;
  throw UsageError(fmt::format("{}: the token {} has id {}; expected 0 to {}",
                               source, in_quotes(token), id, kMostIds - 1));
}

void place(const AddedToken& token, BpeParts& parts) {
  require_id(parts.source, token.text, token.id);
  const auto id = static_cast<std::size_t>(token.id);
  if (parts.tokens.size() <= id) parts.tokens.resize(id + 1);
  std::string& there = parts.tokens[id];
  if (!there.empty() && there != token.text) {
    throw UsageError(
        fmt::format("{}: the added token {} has id {}, which is the token "
                    "{}'s; expected another",
                    parts.source, in_quotes(token.text), id, in_quotes(there)));
  }
  there = token.text;
}

}  // namespace

const std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|)"
    R"(\s+(?!\S)|\s+)";

void Spellings::add(std::string spelled, std::int64_t id) {
  require_id(source_, spelled, id);
  const auto index = static_cast<std::size_t>(id);
  if (used_.size() <= index) used_.resize(index + 1);
  const std::string shown = in_quotes(spelled);
  if (spelled.empty() || used_[index] ||
      !ids_.emplace(std::move(spelled), static_cast<std::int32_t>(id)).second) {
    throw UsageError(
        fmt::format("{}: the token {} with id {} is empty, or it or its id "
                    "stand there twice; expected every one once",
                    source_, shown, id));
  }
  used_[index] = true;
}

std::int32_t Spellings::find(std::string_view spelled) const {
  const auto found = ids_.find(spelled);
  return found == ids_.end() ? -1 : found->second;
}

Merge Spellings::merge(std::string_view left, std::string_view right,
                       const std::string& where) const {
  const auto id_of = [&](std::string_view token) {
    const std::int32_t id = find(token);
    if (id >= 0) return id;
    throw UsageError(fmt::format(
        "{} merges {} and {}, but {} is no token of {}; expected all three",
        where, in_quotes(left), in_quotes(right), in_quotes(token), source_));
  };
  return {.left = id_of(left),
          .right = id_of(right),
          .result = id_of(std::string(left).append(right))};
}

std::vector<std::string> Spellings::tokens(const std::vector<AddedToken>& added,
                                           BytesOf bytes_of) const {
  std::unordered_set<std::string_view> plain;
  for (const AddedToken& token : added) plain.insert(token.text);
  std::vector<std::string> tokens(used_.size());
  for (const auto& [spelled, id] : ids_) {
    const auto bytes = plain.contains(spelled) ? spelled : bytes_of(spelled);
    if (!bytes) {
      throw UsageError(fmt::format(
          "{}: the token {} with id {} spells no bytes; expected a byte-level "
          "vocabulary, in which every character stands for a byte",
          source_, in_quotes(spelled), id));
    }
    tokens[static_cast<std::size_t>(id)] = *bytes;
  }
  return tokens;
}

void place_added_tokens(BpeParts& parts) {
  std::unordered_set<std::string_view> texts;
  for (const AddedToken& token : parts.added) {
    if (token.text.empty() || !texts.insert(token.text).second) {
      throw UsageError(fmt::format(
          "{}: the added token {} with id {} is empty or stands there twice; "
          "expected every one once",
          parts.source, in_quotes(token.text), token.id));
    }
    place(token, parts);
  }
}

}  // namespace quire::data
