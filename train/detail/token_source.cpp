#include "quire/train/detail/token_source.h"

#include <fmt/format.h>

#include "quire/core/error.h"

namespace quire::train {
namespace {

struct Content {
  std::int64_t tokens;
  std::uint64_t hash;

  friend bool operator==(const Content&, const Content&) = default;
};

}  // namespace

TokenSource open_tokens(const std::string& path, std::int64_t vocabulary,
                        Together& together) {
  together.communicator().enter("data");
  auto tokens = std::make_shared<const data::TokenSet>(path);
  tokens->check_ids(vocabulary);
  const Content mine{tokens->size(), tokens->content_hash()};
  const Content first = together.all(mine).front();
  if (mine != first) {
    throw UsageError(fmt::format(
        "rank {} finds {} tokens in {}, rank 0 finds {}{}: give every rank the "
        "same text",
        together.communicator().rank(), mine.tokens, path, first.tokens,
        mine.tokens == first.tokens ? " of other content" : ""));
  }
  return {.tokens = std::move(tokens), .content = mine.hash};
}

}  // namespace quire::train
