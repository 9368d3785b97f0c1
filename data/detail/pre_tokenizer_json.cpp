#include "quire/data/detail/tokenizer_json.h"

namespace quire::data {
namespace {

// What a ByteLevel does itself; it also spells bytes, which is checked once.
struct PreTokenizer {
  std::vector<std::string> patterns;
  bool spells_bytes = false;
};

void read_byte_level(const JsonAt& at, PreTokenizer& read) {
  if (at.at("add_prefix_space").flag())
    at.at("add_prefix_space").refuse("false: no text is put before another");
  const JsonAt use_regex = at.at("use_regex");
  if (use_regex.is_null() || use_regex.flag())
    read.patterns.emplace_back(kGpt2Pattern);
  read.spells_bytes = true;
}

// A text as a pattern that matches it alone.
std::string literally(const std::string& text) {
  std::string pattern;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                       (c >= 'a' && c <= 'z') || (c & 0x80) != 0;
    if (!plain) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

void read_split(const JsonAt& at, PreTokenizer& read) {
  if (read.spells_bytes)
    at.refuse("no Split behind ByteLevel, which has spelled the bytes");
  if (at.at("behavior").text() != "Isolated")
    at.at("behavior").refuse("\"Isolated\": every match is a piece");
  const JsonAt pattern = at.at("pattern");
  const JsonAt regex = pattern.at("Regex");
  read.patterns.push_back(
      regex.is_null() ? literally(pattern.at("String").text()) : regex.text());
}

void read_one(const JsonAt& at, int nested, PreTokenizer& read) {
  const std::string& type = at.at("type").text();
  if (type == "ByteLevel") return read_byte_level(at, read);
  if (type == "Split") return read_split(at, read);
  if (type != "Sequence" || nested == kMostNested) {
    at.at("type").refuse(
        "\"ByteLevel\", \"Split\" or a \"Sequence\" of them; tokenize with "
        "the model's own tools and write token files");
  }
  const JsonAt list = at.at("pretokenizers");
  for (std::size_t i = 0; i < list.array().size(); ++i)
    read_one(list.at(i), nested + 1, read);
}

}  // namespace

std::vector<std::string> patterns_of(const JsonAt& pre_tokenizer) {
  PreTokenizer read;
  read_one(pre_tokenizer, 0, read);
  if (!read.spells_bytes)
    pre_tokenizer.refuse("one with ByteLevel: a byte-level vocabulary");
  return read.patterns;
}

}  // namespace quire::data
