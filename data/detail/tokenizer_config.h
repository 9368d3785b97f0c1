// tokenizer_config.json, of which is read what stands around a text:
//
//   add_bos_token, add_eos_token   true or false
//   bos_token, eos_token           a text, or {content: text}
#pragma once

#include "quire/data/bpe_tokenizer.h"
#include "quire/data/detail/bpe_parts.h"

namespace quire::data {

// A token that the file does not name is GPT-2's, <|endoftext|>; null is none.
// Throws UsageError naming file and key for a value of another kind, and for
// one that is no token of `parts`.
Frame config_frame(const TokenizerText& config, const BpeParts& parts);

}  // namespace quire::data
