#include <fmt/format.h>

#include <array>

#include "quire/core/error.h"
#include "quire/data/detail/in_quotes.h"
#include "quire/data/detail/tokenizer_json.h"
#include "quire/data/detail/utf8.h"

namespace quire::data {
namespace {

using Prefix = Metaspace::Prefix;

constexpr const char* kElsewhere =
    "; tokenize with the model's own tools and write token files";

void require(const JsonAt& at, const char* key, const Json& value) {
  if (*at.at(key).value != value) at.at(key).refuse(value.dump());
}

void require_replace(const JsonAt& at, std::string_view blank,
                     std::string_view by) {
  require(at, "pattern", {{"String", blank}});
  require(at, "content", by);
}

struct Normalizer {
  bool prepends = false;
  bool replaces = false;
};

void read_normalizer(const JsonAt& at, Normalizer& read) {
  const JsonAt type = at.at("type");
  if (type.text() == "Prepend" && !read.prepends) {
    require(at, "prepend", kSpelledBlank);
    read.prepends = true;
  } else if (type.text() == "Replace" && !read.replaces) {
    require_replace(at, " ", kSpelledBlank);
    read.replaces = true;
  } else {
    type.refuse(std::string("\"Replace\", or a \"Sequence\" of \"Prepend\" and "
                            "\"Replace\"") +
                kElsewhere);
  }
}

Normalizer normalizer_of(const JsonAt& at) {
  Normalizer read;
  if (at.is_null()) return read;
  if (at.at("type").text() != "Sequence") {
    read_normalizer(at, read);
  } else {
    const JsonAt list = at.at("normalizers");
    for (std::size_t i = 0; i < list.array().size(); ++i)
      read_normalizer(list.at(i), read);
  }
  if (read.prepends && !read.replaces)
    at.refuse("one with \"Replace\" of blanks");
  return read;
}

// Old files say add_prefix_space, and that it is true: always.
Prefix prefix_of(const JsonAt& scheme) {
  if (scheme.is_null() || scheme.text() == "always") return Prefix::kEvery;
  if (scheme.text() == "first") return Prefix::kFirst;
  if (scheme.text() != "never")
    scheme.refuse(R"("first", "always" or "never")");
  return Prefix::kNone;
}

Prefix prefix_of_pre_tokenizer(const JsonAt& at) {
  require(at, "type", "Metaspace");
  require(at, "replacement", kSpelledBlank);
  require(at, "split", false);
  const JsonAt added = at.at("add_prefix_space");
  const Prefix prefix = prefix_of(at.at("prepend_scheme"));
  if (!added.is_null() && !added.flag() && prefix != Prefix::kNone)
    added.refuse("true, or the prepend_scheme \"never\"");
  return prefix;
}

bool strips(const JsonAt& decoder) {
  require(decoder, "type", "Sequence");
  const JsonAt list = decoder.at("decoders");
  constexpr std::array kTypes = {"Replace", "ByteFallback", "Fuse", "Strip"};
  const std::size_t count = list.array().size();
  if (count != kTypes.size() && count + 1 != kTypes.size())
    list.refuse(
        "\"Replace\", \"ByteFallback\", \"Fuse\" and perhaps "
        "\"Strip\"");
  for (std::size_t i = 0; i < count; ++i)
    require(list.at(i), "type", kTypes[i]);
  require_replace(list.at(std::size_t{0}), kSpelledBlank, " ");
  if (count < kTypes.size()) return false;
  require(list.at(3), "content", " ");
  require(list.at(3), "start", 1);
  require(list.at(3), "stop", 0);
  return true;
}

// A character that is a token stands before the bytes it is made of.
Letters letters_of(const Spellings& spellings) {
  Letters letters;
  for (const auto& [spelled, id] : spellings.all())
    if (const auto byte = byte_of_token(spelled)) letters.set_byte(*byte, id);
  for (const auto& [spelled, id] : spellings.all()) {
    std::string_view rest = spelled;
    const char32_t c = take_utf8(rest);
    if (!rest.empty() || spelled == " ") continue;
    if (spelled == kSpelledBlank)
      letters.set_byte(' ', id);
    else if (c < 0x80)
      letters.set_byte(static_cast<unsigned char>(c), id);
    else
      letters.set_character(c, id);
  }
  return letters;
}

std::vector<bool> byte_tokens(const Spellings& spellings, std::size_t count) {
  std::vector<bool> are(count);
  for (const auto& [spelled, id] : spellings.all())
    if (byte_of_token(spelled)) are[static_cast<std::size_t>(id)] = true;
  return are;
}

void require_no_byte(const BpeParts& parts) {
  for (const AddedToken& token : parts.added) {
    if (!byte_of_token(token.text)) continue;
    throw UsageError(
        fmt::format("{}: the added token {} stands for a byte; expected that "
                    "of the vocabulary alone{}",
                    parts.source, in_quotes(token.text), kElsewhere));
  }
}

void require_blank(const BpeParts& parts, const Spellings& spellings) {
  if (spellings.find(kSpelledBlank) >= 0) return;
  throw UsageError(
      fmt::format("{}: no token stands for a blank; expected U+2581 in a "
                  "vocabulary with byte_fallback{}",
                  parts.source, kElsewhere));
}

// Words are merged one by one: no merge may join two of them, or bytes.
void require_words(const BpeParts& parts, const Spellings& spellings) {
  const std::vector<bool> is_byte = byte_tokens(spellings, parts.tokens.size());
  for (const Merge& merge : parts.merges) {
    const auto at = [](std::int32_t id) {
      return static_cast<std::size_t>(id);
    };
    const std::string& left = parts.tokens[at(merge.left)];
    const std::string& right = parts.tokens[at(merge.right)];
    const bool joins = !left.ends_with(' ') && right.starts_with(' ');
    if (!joins && !is_byte[at(merge.left)] && !is_byte[at(merge.right)] &&
        !is_byte[at(merge.result)])
      continue;
    throw UsageError(fmt::format(
        "{}: a merge joins {} and {}; expected blanks (U+2581) at the front of "
        "tokens alone, and no merges of bytes{}",
        parts.source, in_quotes(left), in_quotes(right), kElsewhere));
  }
}

Metaspace metaspace_of(const JsonAt& root, const Spellings& spellings) {
  const Normalizer normalizer = normalizer_of(root.at("normalizer"));
  const JsonAt pre_tokenizer = root.at("pre_tokenizer");
  Metaspace read = {.letters = letters_of(spellings),
                    .normalizes = normalizer.replaces,
                    .strips = strips(root.at("decoder"))};
  if (!normalizer.replaces)
    read.prefix = prefix_of_pre_tokenizer(pre_tokenizer);
  else if (!pre_tokenizer.is_null())
    pre_tokenizer.refuse("none behind a normalizer of blanks");
  else if (normalizer.prepends)
    read.prefix = Prefix::kEvery;
  return read;
}

// A newline that is a byte is in no merge.
std::string_view pattern_of(const Spellings& spellings) {
  return spellings.find("\n") < 0 ? kWordOrLinePattern : kWordPattern;
}

}  // namespace

void read_metaspace(const JsonAt& root, const Spellings& spellings,
                    BpeParts& parts) {
  const JsonAt ignores = root.at("model").at("ignore_merges");
  if (ignores.flag()) ignores.refuse("false where byte_fallback is true");
  require_no_byte(parts);
  require_blank(parts, spellings);
  parts.metaspace = metaspace_of(root, spellings);
  parts.patterns = {std::string(pattern_of(spellings))};
  parts.tokens = spellings.tokens(parts.added, bytes_of_token);
  require_words(parts, spellings);
}

void show_blanks(BpeParts& parts) {
  if (!parts.metaspace) return;
  for (const AddedToken& token : parts.added) {
    const bool is_whole = token.normalized && parts.metaspace->normalizes;
    const TextForm form = parts.metaspace->spaced(
        token.text, is_whole ? Before::kNothing : Before::kText);
    parts.tokens[static_cast<std::size_t>(token.id)] = form.text();
  }
}

}  // namespace quire::data
