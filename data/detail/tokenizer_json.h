// tokenizer.json, one file with all of a tokenizer:
//
//   added_tokens    [{id, content, special, ...}]
//   normalizer      null, NFC, or a Sequence of it
//   pre_tokenizer   ByteLevel, Split, or a Sequence of them
//   post_processor  null, ByteLevel, TemplateProcessing, or a Sequence of them
//   decoder         null or ByteLevel
//   model           {type BPE, vocab {token: id}, merges, ...}
//
// With byte_fallback in the model, which has tokens for bytes beside those for
// characters, and U+2581 for blanks:
//
//   normalizer      null, Replace, or a Sequence of Prepend and Replace
//   pre_tokenizer   Metaspace where there is no normalizer, else null
//   decoder         a Sequence: Replace, ByteFallback, Fuse, perhaps Strip
//
// What is written for the padding of batches, and for pairs of texts, is not
// read.
#pragma once

#include <string>
#include <vector>

#include "quire/data/bpe_tokenizer.h"
#include "quire/data/detail/bpe_parts.h"
#include "quire/data/detail/json_text.h"

namespace quire::data {

// Sequences in one another, at most.
inline constexpr int kMostNested = 4;

// Throws UsageError naming file and key for what bpe_tokenizer.h refuses.
BpeParts tokenizer_json_parts(const TokenizerText& file);

// The patterns that cut a text, in their order; `where` is pre_tokenizer.
std::vector<std::string> patterns_of(const JsonAt& pre_tokenizer);

// What is read otherwise with byte_fallback: also the patterns, and tokens.
void read_metaspace(const JsonAt& root, const Spellings& spellings,
                    BpeParts& parts);

// Decoded, added tokens have blanks as well.
void show_blanks(BpeParts& parts);

// What stands around a text, in tokens of parts.tokens.
Frame frame_of(const JsonAt& post_processor, const BpeParts& parts);

}  // namespace quire::data
