// Text as sentencepiece sees it, in byte pair encodings that were born there:
// Llama 2's, Mistral's.
//
// A blank is a letter, which files spell U+2581 and which is " " here, as it is
// where a text has U+2581 itself. One more stands before the first word.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quire/data/detail/letters.h"
#include "quire/data/detail/text_form.h"

namespace quire::data {

// What stands before a stretch of text.
enum class Before : std::uint8_t { kNothing, kToken, kText };

struct Metaspace {
  // kFirst: where a text begins; kEvery: behind an added token as well.
  enum class Prefix : std::uint8_t { kNone, kFirst, kEvery };

  Letters letters;
  Prefix prefix = Prefix::kNone;
  // It makes the normal form that added tokens may want to be found in, with
  // the blank before it. If not, it comes behind them, and text that begins
  // with a blank gets no other.
  bool normalizes = false;
  bool strips = false;  // a text that was decoded loses its first blank

  // The text with blanks for U+2581, and the one before it that files want.
  TextForm spaced(std::string_view text, Before before) const;
};

inline constexpr std::string_view kSpelledBlank = "\u2581";

// Each of them ends before a blank that follows something else. Lines are
// pieces where newlines are no letters that join.
extern const std::string_view kWordPattern;
extern const std::string_view kWordOrLinePattern;

// Of a token "<0x0A>".
std::optional<unsigned char> byte_of_token(std::string_view spelled);
// Of any token.
std::optional<std::string> bytes_of_token(std::string_view spelled);

}  // namespace quire::data
