// The tokenizer of bpe_tokenizer.h, once its files have been read.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "quire/data/detail/added_tokens.h"
#include "quire/data/detail/bpe_parts.h"
#include "quire/data/detail/letters.h"
#include "quire/data/detail/merge_table.h"
#include "quire/data/detail/merger.h"
#include "quire/data/detail/pattern.h"
#include "quire/data/detail/piece_cache.h"
#include "quire/data/tokenizer.h"

namespace quire::data {

class BpeTokenizer final : public Tokenizer {
 public:
  // Throws UsageError naming parts.source for a byte without a token, a merge
  // that stands there twice and a pattern that does not compile.
  explicit BpeTokenizer(BpeParts parts);
  ~BpeTokenizer() override;

  std::size_t append(const TextPart& part,
                     std::vector<std::int32_t>& ids) const override;
  std::string decode(std::span<const std::int32_t> ids) const override;
  std::int64_t vocabulary() const override {
    return static_cast<std::int64_t>(parts_.tokens.size());
  }
  std::optional<std::int32_t> end_of_text() const override;
  Frame frame() const override { return parts_.frame; }
  std::string name() const override { return parts_.name; }

 private:
  // The memory of one call; calls take turns with those that are there.
  struct Worker {
    explicit Worker(const BpeTokenizer& tokenizer)
        : merger(tokenizer.merges_) {}
    MatchMemory memory;
    PieceCache cache;
    Merger merger;
  };
  // What stands for itself in a text. Those of `in_text` are found first, then
  // those of `in_form` in the normal form of what is left.
  struct Added {
    AddedTokens in_text;
    AddedTokens in_form;
  };
  class Turn;
  class Cutter;

  Added added_tokens(Specials specials) const;
  void find_whole_pieces();
  void append_piece(std::string_view piece, Worker& worker,
                    std::vector<std::int32_t>& ids) const;

  BpeParts parts_;
  MergeTable merges_;
  Letters letters_;
  std::vector<Pattern> patterns_;
  Added plain_added_;  // those that are not special
  Added all_added_;
  // Where merges are ignored: token by its bytes, which lie in parts_.
  std::unordered_map<std::string_view, std::int32_t> whole_pieces_;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Worker>> idle_;
};

}  // namespace quire::data
