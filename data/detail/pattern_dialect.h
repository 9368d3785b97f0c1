// Patterns of tokenizer files are written for Oniguruma, in Ruby's syntax, and
// matched by PCRE2.
#pragma once

#include <string>
#include <string_view>

namespace quire::data {

struct TranslatedPattern {
  // \s and \S are the characters that Unicode calls white space: PCRE2's \s has
  // U+180E among them as well. A \S within a class is left as it is.
  std::string pattern;
  // A sign that PCRE2 takes in another sense: \Q \h (?m, and [ or && within a
  // class. Empty: there is none.
  std::string foreign;
  // Whether what matches at a place may depend on what lies before it, as far
  // as signs say: ^ \A \G \K \b \B and verbs. Says yes too often.
  bool looks_back = false;
};

TranslatedPattern translate(std::string_view pattern);

}  // namespace quire::data
