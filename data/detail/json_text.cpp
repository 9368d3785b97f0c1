#include "quire/data/detail/json_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <unordered_set>
#include <vector>

#include "quire/core/error.h"
#include "quire/data/detail/in_quotes.h"

namespace quire::data {
namespace {

constexpr std::size_t kMostDepth = 64;
constexpr std::int64_t kMostValues = std::int64_t{1} << 23;

// Watches what nlohmann_json's parser tells while it reads. No call returns
// false: what is refused is thrown.
class Guard {
 public:
  explicit Guard(const std::string& source) : source_(source) {}

  bool null() { return count(); }
  bool boolean(bool) { return count(); }
  bool number_integer(std::int64_t) { return count(); }
  bool number_unsigned(std::uint64_t) { return count(); }
  bool number_float(double, const std::string&) { return count(); }
  bool string(const std::string&) { return count(); }
  bool binary(const Json::binary_t&) { return count(); }
  bool start_object(std::size_t) { return open(); }
  bool start_array(std::size_t) { return open(); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(const std::string& name) {
    if (keys_.back().insert(name).second) return true;
    refuse(
        fmt::format("the key {} stands twice in one object", in_quotes(name)));
  }
  bool parse_error(std::size_t place, const std::string&,
                   const Json::exception& error) {
    refuse(fmt::format("it is no JSON at byte {}: {}", place, error.what()));
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw UsageError(fmt::format("{}: {}; expected JSON with every key once",
                                 source_, what));
  }
  bool count() {
    if (++values_ <= kMostValues) return true;
    refuse(fmt::format("it has more than {} values", kMostValues));
  }
  bool open() {
    keys_.emplace_back();
    if (keys_.size() <= kMostDepth) return count();
    refuse(fmt::format("it nests deeper than {} levels", kMostDepth));
  }
  bool close() {
    keys_.pop_back();
    return true;
  }

  const std::string& source_;
  std::vector<std::unordered_set<std::string>> keys_;
  std::int64_t values_ = 0;
};

std::string shown(const Json& value) {
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return value.dump();
}

const Json& null_value() {
  static const Json null;
  return null;
}

}  // namespace

Json parse_json(std::string_view text, const std::string& source) {
  Guard guard(source);
  Json::sax_parse(text, &guard);
  return Json::parse(text);
}

JsonAt JsonAt::at(const char* key) const {
  const auto found = object().find(key);
  return {
      .value = found == value->end() ? &null_value() : &*found,
      .where = fmt::format("{}{}{}", where,
                           where.find(": ") == where.npos ? ": " : ".", key)};
}

JsonAt JsonAt::at(std::size_t index) const {
  return {.value = &array().at(index),
          .where = fmt::format("{}[{}]", where, index)};
}

const std::string& JsonAt::text() const {
  if (!value->is_string()) refuse("a string");
  return value->get_ref<const std::string&>();
}

std::int64_t JsonAt::integer() const {
  const bool fits =
      value->is_number_integer() &&
      (!value->is_number_unsigned() ||
       value->get<std::uint64_t>() <=
           std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  if (!fits) refuse("a whole number");
  return value->get<std::int64_t>();
}

bool JsonAt::flag() const {
  if (is_null()) return false;
  if (!value->is_boolean()) refuse("true or false");
  return value->get<bool>();
}

const Json& JsonAt::object() const {
  if (!value->is_object()) refuse("an object");
  return *value;
}

const Json& JsonAt::array() const {
  if (!value->is_array()) refuse("an array");
  return *value;
}

void JsonAt::refuse(std::string_view expected) const {
  throw UsageError(
      fmt::format("{} is {}; expected {}", where, shown(*value), expected));
}

}  // namespace quire::data
