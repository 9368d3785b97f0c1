// Patterns of tokenizer files are written for other engines than PCRE2.
#pragma once

#include <string>
#include <string_view>

namespace quire::data {

// The same pattern with \s and \S as the characters that Unicode calls white
// space: PCRE2 has U+180E among them as well. A \S within a class is left as it
// is.
std::string translated_pattern(std::string_view pattern);

// Whether what matches at a place may depend on what lies before it, as far as
// the pattern's own signs say: ^ \A \G \b \B.
bool looks_back(std::string_view pattern);

}  // namespace quire::data
