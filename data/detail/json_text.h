// JSON from files that nobody vouches for, and its values with errors that name
// file and key.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace quire::data {

using Json = nlohmann::json;

// Throws UsageError naming `source` for text that is no JSON, nests deeper than
// 64 levels, has more than 2^23 values, or has a key twice in one object.
Json parse_json(std::string_view text, const std::string& source);

// A value and where it stands; `value` is owned by the document.
struct JsonAt {
  const Json* value;
  std::string where;  // "DIR/tokenizer.json: model.merges"

  bool is_null() const { return value->is_null(); }
  // The value of a key; null if it is not there.
  JsonAt at(const char* key) const;
  JsonAt at(std::size_t index) const;
  // They throw UsageError for values of another kind.
  const std::string& text() const;
  std::int64_t integer() const;
  bool flag() const;  // false where there is none
  const Json& object() const;
  const Json& array() const;

  // Throws UsageError: where, what stands there, what is expected.
  [[noreturn]] void refuse(std::string_view expected) const;
};

}  // namespace quire::data
