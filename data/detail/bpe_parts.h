// What a tokenizer of byte pair encoding is made of, whatever files said it,
// and the checks that all of them pass.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "quire/data/detail/metaspace.h"
#include "quire/data/tokenizer.h"

namespace quire::data {

struct Merge {
  std::int32_t left;
  std::int32_t right;
  std::int32_t result;
};

struct AddedToken {
  std::string text;
  std::int32_t id;
  bool special;
  bool normalized = false;  // found in the text's normal form
};

struct BpeParts {
  std::string name;                   // what make_tokenizer takes
  std::string source;                 // the file, for messages
  std::vector<std::string> tokens;    // bytes by id; empty: no such token
  std::vector<Merge> merges;          // by rank
  std::vector<std::string> patterns;  // each cuts what the one before left
  std::vector<AddedToken> added;
  bool ignore_merges = false;  // a piece that is a token is that token
  bool nfc = false;            // text is brought into normalization form C
  std::optional<Metaspace> metaspace;  // none: every byte is a letter
  Frame frame;
};

inline constexpr std::int64_t kMostIds = std::int64_t{1} << 22;

// 's|'t|..., of GPT-2 and of every ByteLevel that cuts by itself.
extern const std::string_view kGpt2Pattern;

// The tokens of a vocabulary as its file spells them. Every error names
// `source` and the token.
class Spellings {
 public:
  explicit Spellings(std::string source) : source_(std::move(source)) {}

  // Throws UsageError if the token or the id is there already, or the id is out
  // of range.
  void add(std::string spelled, std::int64_t id);
  // -1: it is not there.
  std::int32_t find(std::string_view spelled) const;
  // Of two tokens and the one that they make. `where` names the merge. Throws
  // UsageError if one is not there.
  Merge merge(std::string_view left, std::string_view right,
              const std::string& where) const;
  // Bytes by id. Tokens in `added` are spelled as their text. Throws UsageError
  // for one that spells no bytes.
  using BytesOf = std::optional<std::string> (*)(std::string_view spelled);
  std::vector<std::string> tokens(const std::vector<AddedToken>& added,
                                  BytesOf bytes_of) const;
  std::size_t size() const { return ids_.size(); }

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  using Ids =
      std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>>;
  const Ids& all() const { return ids_; }

 private:
  std::string source_;
  Ids ids_;
  std::vector<bool> used_;  // by id
};

// Puts the added tokens among the others. Throws UsageError for one that has
// another's id or no text, for a text twice, and for an id out of range.
void place_added_tokens(BpeParts& parts);

}  // namespace quire::data
