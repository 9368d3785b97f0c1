// Byte pair encoding: byte-level, as GPT-2, Llama 3 and Qwen have it, and with
// blanks and characters for letters, as Llama 2 and Mistral do.
//
// A text is cut into pieces by a pattern, and the letters of every piece are
// merged pair by pair, the pair of the lowest rank first, the leftmost of
// equals. What goes in comes out:
//
//   bytes that are no UTF-8   the pattern runs over the stretches between them,
//                             each as if a text began and ended there; every
//                             such byte is a piece of its own
//   a normalizer NFC          brings each of these stretches into Unicode's
//                             normalization form C: decoded, it stands in that
//                             form, and all else as it was
//   added tokens              that are special as Specials says, others always;
//                             the leftmost, of these the longest: before the
//                             normalizer, those that want it behind it
//   a post-processor          says what frame() is
//
// With byte_fallback, a letter is a character that the vocabulary has, or else
// a byte, and U+2581 is a blank. Pieces are words with the blanks before them:
// what merges join. The files say whether a blank is put before a text, and
// behind added tokens, and whether decode drops the first one: what comes out
// has U+2581 as blanks, and may have one blank more or less where a text or
// what follows an added token begins. A normalizer of blanks puts added tokens
// that want it in that form as well, with a blank before them.
//
// Refused, with the file and the key: every other model (WordPiece, Unigram),
// dropout, prefixes and suffixes, other normalizers, other pre-tokenizers than
// ByteLevel and Split by a regular expression that isolates its matches, or
// with byte_fallback Metaspace that does not split, add_prefix_space of
// ByteLevel, other post-processors than ByteLevel and TemplateProcessing, and
// added tokens that strip or that want whole words; vocabularies without all
// 256 bytes, with an id or a token twice, with ids of 2^22 and more; merges of
// unknown tokens and merges that stand twice; with byte_fallback, ignore_merges
// and merges of bytes or across the beginning of a word; files of more than
// 256 MiB.
//
// A pattern is bounded in steps and memory per match; one that runs away is a
// UsageError of the text's encoding.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "quire/data/tokenizer.h"

namespace quire::data {

// GPT-2's, which lies in the library.
std::unique_ptr<Tokenizer> gpt2_tokenizer();

// The first of these that the folder has:
//
//   tokenizer.json
//   vocab.json and merges.txt
//   encoder.json and vocab.bpe
//
// The pairs of files say no pattern: they are cut by GPT-2's, and tokens that
// no merge makes are special. Their frame is that of tokenizer_config.json:
// bos_token if add_bos_token is true, eos_token if add_eos_token is; beside
// tokenizer.json it is not read. Throws UsageError naming the file, and what to
// do about a folder that has none of them.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& folder);

// What files say, and where they lie: `source` is the path for messages.
struct TokenizerText {
  std::string_view text;
  std::string source;
};
std::unique_ptr<Tokenizer> parse_tokenizer_json(const TokenizerText& file);
std::unique_ptr<Tokenizer> parse_vocabulary_and_merges(
    const TokenizerText& vocabulary, const TokenizerText& merges);

}  // namespace quire::data
