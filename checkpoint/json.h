// A JSON document from a file that nobody vouches for. Refused are, besides
// broken text: a key twice in one object, nesting deeper than kMostDepth, more
// than kMostValues values, and anything after the document. Every access says
// in its error which file and which key it is about.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quire::checkpoint {

// A place in a document, which it keeps alive; copies are cheap. Every access
// throws UsageError where the document is not as the caller asks.
class Json {
 public:
  static constexpr int kMostDepth = 64;
  // A value takes some 100 bytes and may be written in two.
  static constexpr std::int64_t kMostValues = std::int64_t{1} << 22;

  // `source`: the file, for messages.
  static Json parse(std::string_view text, std::string source);

  enum class Kind : std::uint8_t {
    kNull,
    kBoolean,
    kInteger,  // written without a point or an exponent, and within 64 bits
    kReal,
    kString,
    kArray,
    kObject
  };
  Kind kind() const;
  bool is_null() const { return kind() == Kind::kNull; }

  // Of an object. at: the key is needed.
  Json at(std::string_view key) const;
  std::optional<Json> find(std::string_view key) const;
  std::vector<std::pair<std::string, Json>> members() const;
  // Of an array.
  std::vector<Json> items() const;

  // A whole number within [least, most].
  std::int64_t integer(
      std::int64_t least = 0,
      std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  std::uint64_t unsigned_integer() const;
  double real() const;  // an integer, too
  bool boolean() const;
  const std::string& string() const;

  // The same value as text: members in their order, numbers to the last bit.
  std::string text() const;

  // "manifest.json: files[3].name".
  std::string where() const;
  // Throws UsageError: where, what stands there, what is expected.
  [[noreturn]] void refuse(std::string_view expected) const;

  struct Value;

 private:
  struct Document;
  Json(std::shared_ptr<const Document> document, const Value* value,
       std::string path)
      : document_(std::move(document)), value_(value), path_(std::move(path)) {}
  Json child(const Value& value, std::string_view key) const;

  std::shared_ptr<const Document> document_;
  const Value* value_;
  std::string path_;
};

}  // namespace quire::checkpoint
