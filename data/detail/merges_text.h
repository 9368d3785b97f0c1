// The other spelling of a tokenizer: vocab.json with an object of ids, and
// merges.txt with a line "left right" for every merge, in the order of ranks.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "quire/data/bpe_tokenizer.h"
#include "quire/data/detail/bpe_parts.h"

namespace quire::data {

// GPT-2's, of merges alone: the ids follow the bytes and the merges, and end
// with the end of text.
BpeParts gpt2_parts(const TokenizerText& merges);

// With GPT-2's pattern; what no merge makes is special.
BpeParts vocabulary_parts(const TokenizerText& vocabulary,
                          const TokenizerText& merges);

// Calls visit(left, right, where) for each line. A first line "#version..." and
// empty lines at the end are none. Throws UsageError naming source and line for
// one that is not two words.
using VisitMerge = std::function<void(std::string_view, std::string_view,
                                      const std::string& where)>;
void each_merge(const TokenizerText& merges, const VisitMerge& visit);

}  // namespace quire::data
