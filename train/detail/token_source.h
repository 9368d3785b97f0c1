// Token files as a run opens them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "quire/data/token_set.h"
#include "quire/train/detail/together.h"

namespace quire::train {

struct TokenSource {
  std::shared_ptr<const data::TokenSet> tokens;
  std::uint64_t content;  // hash
};

// Collective: every rank reads the whole text once. Throws UsageError naming
// file and position of an id that is not below `vocabulary`, or the rank that
// finds other tokens than rank 0.
TokenSource open_tokens(const std::string& path, std::int64_t vocabulary,
                        Together& together);

}  // namespace quire::train
