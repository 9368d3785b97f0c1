#include "quire/data/detail/added_tokens.h"

#include <algorithm>

namespace quire::data {
namespace {

unsigned char first_of(const AddedToken& token) {
  return static_cast<unsigned char>(token.text[0]);
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens)
    : tokens_(std::move(tokens)) {
  std::ranges::sort(tokens_, [](const AddedToken& a, const AddedToken& b) {
    if (first_of(a) != first_of(b)) return first_of(a) < first_of(b);
    return a.text.size() > b.text.size();
  });
  for (const AddedToken& token : tokens_) {
    ++starts_[first_of(token) + std::size_t{1}];
    if (firsts_.find(token.text[0]) == std::string::npos)
      firsts_ += token.text[0];
    longest_ = std::max(longest_, token.text.size());
  }
  for (std::size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
}

std::optional<AddedTokens::Hit> AddedTokens::find(std::string_view text,
                                                  std::size_t from,
                                                  std::size_t before) const {
  if (tokens_.empty()) return {};
  const std::string_view searched = text.substr(0, before);
  while ((from = searched.find_first_of(firsts_, from)) != text.npos) {
    if (const auto hit = hit_at(text, from)) return hit;
    ++from;
  }
  return {};
}

std::optional<AddedTokens::Hit> AddedTokens::hit_at(std::string_view text,
                                                    std::size_t begin) const {
  const auto byte = static_cast<unsigned char>(text[begin]);
  for (auto i = starts_[byte]; i < starts_[byte + std::size_t{1}]; ++i) {
    const AddedToken& token = tokens_[i];
    if (text.substr(begin).starts_with(token.text)) {
      return Hit{
          .begin = begin, .end = begin + token.text.size(), .id = token.id};
    }
  }
  return {};
}

}  // namespace quire::data
