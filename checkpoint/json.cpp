#include "quire/checkpoint/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <variant>

#include "quire/core/error.h"

namespace quire::checkpoint {
namespace {

using Array = std::vector<Json::Value>;
using Object = std::vector<std::pair<std::string, Json::Value>>;

constexpr std::size_t kMostQuoted = 60;

std::string shortened(std::string text) {
  if (text.size() > kMostQuoted) text = text.substr(0, kMostQuoted) + "...";
  return text;
}

}  // namespace

struct Json::Value {
  // In the order of Kind; a whole number above 2^63 is kept apart.
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array,
               Object, std::uint64_t>
      is = nullptr;
};

struct Json::Document {
  Value root;
  std::string source;
};

namespace {

// What nlohmann_json's parser tells while it reads; keeps no stack of calls.
class Builder {
 public:
  explicit Builder(Json::Value& root) : root_(&root) {}

  const std::string& error() const { return error_; }

  bool null() { return add({nullptr}); }
  bool boolean(bool value) { return add({value}); }
  bool number_integer(std::int64_t value) { return add({value}); }
  bool number_unsigned(std::uint64_t value) {
    if (value <= static_cast<std::uint64_t>(INT64_MAX))
      return add({static_cast<std::int64_t>(value)});
    return add({value});
  }
  bool number_float(double value, const std::string&) { return add({value}); }
  bool string(std::string& value) { return add({std::move(value)}); }
  bool binary(nlohmann::json::binary_t&) { return fail("binary data"); }

  bool start_object(std::size_t) { return open({Object{}}); }
  bool start_array(std::size_t) { return open({Array{}}); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    if (!open_.back().keys.insert(name).second)
      return fail(fmt::format("the key \"{}\" stands twice in one object",
                              shortened(name)));
    std::get<Object>(open_.back().value->is)
        .emplace_back(std::move(name), Json::Value{});
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) {
    return fail(fmt::format("no JSON: broken at byte {}", position));
  }

 private:
  struct Open {
    Json::Value* value;
    std::unordered_set<std::string> keys;
  };

  bool fail(std::string why) {
    error_ = std::move(why);
    return false;
  }
  bool counted() {
    if (++values_ <= Json::kMostValues) return true;
    return fail(fmt::format("more than {} values", Json::kMostValues));
  }
  // An open value is its parent's last, so its address stays.
  Json::Value* place(Json::Value value) {
    Json::Value* at = root_;
    if (!open_.empty()) {
      auto& parent = open_.back().value->is;
      if (auto* array = std::get_if<Array>(&parent))
        at = &array->emplace_back();
      else
        at = &std::get<Object>(parent).back().second;
    }
    *at = std::move(value);
    return at;
  }
  bool add(Json::Value value) {
    if (!counted()) return false;
    place(std::move(value));
    return true;
  }
  bool open(Json::Value value) {
    if (!counted()) return false;
    if (open_.size() == Json::kMostDepth)
      return fail(fmt::format("nested deeper than {}", Json::kMostDepth));
    Json::Value* at = place(std::move(value));
    open_.push_back({at, {}});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  Json::Value* root_;
  std::vector<Open> open_;
  std::int64_t values_ = 0;
  std::string error_;
};

nlohmann::ordered_json to_library(const Json::Value& value) {
  using Out = nlohmann::ordered_json;
  if (const auto* array = std::get_if<Array>(&value.is)) {
    Out out = Out::array();
    for (const auto& item : *array) out.push_back(to_library(item));
    return out;
  }
  if (const auto* object = std::get_if<Object>(&value.is)) {
    // By operator[] every key would be compared with all before it.
    Out out = Out::object();
    auto& members = out.get_ref<Out::object_t&>();
    for (const auto& [key, item] : *object)
      members.emplace_back(key, to_library(item));
    return out;
  }
  return std::visit(
      [](const auto& is) -> Out {
        using Is = std::decay_t<decltype(is)>;
        if constexpr (std::is_same_v<Is, Array> || std::is_same_v<Is, Object>)
          return Out();
        else
          return Out(is);
      },
      value.is);
}

}  // namespace

Json Json::parse(std::string_view text, std::string source) {
  auto document = std::make_shared<Document>();
  document->source = std::move(source);
  Builder builder(document->root);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder))
    throw UsageError(fmt::format("{}: {}", document->source, builder.error()));
  const Value* root = &document->root;
  return Json(std::move(document), root, "");
}

Json::Kind Json::kind() const {
  const auto index = value_->is.index();
  constexpr auto kBeyond = static_cast<std::size_t>(Kind::kObject) + 1;
  return index == kBeyond ? Kind::kInteger : static_cast<Kind>(index);
}

Json Json::child(const Value& value, std::string_view key) const {
  std::string path = path_;
  if (!path.empty() && !key.starts_with('[')) path += '.';
  path += key;
  return Json(document_, &value, std::move(path));
}

std::optional<Json> Json::find(std::string_view key) const {
  const auto* object = std::get_if<Object>(&value_->is);
  if (object == nullptr) refuse("an object");
  for (const auto& [name, value] : *object)
    if (name == key) return child(value, key);
  return std::nullopt;
}

Json Json::at(std::string_view key) const {
  auto found = find(key);
  if (!found)
    throw UsageError(
        fmt::format("{}: the key \"{}\" is missing", where(), key));
  return *std::move(found);
}

std::vector<std::pair<std::string, Json>> Json::members() const {
  const auto* object = std::get_if<Object>(&value_->is);
  if (object == nullptr) refuse("an object");
  std::vector<std::pair<std::string, Json>> result;
  result.reserve(object->size());
  for (const auto& [key, value] : *object)
    result.emplace_back(key, child(value, key));
  return result;
}

std::vector<Json> Json::items() const {
  const auto* array = std::get_if<Array>(&value_->is);
  if (array == nullptr) refuse("an array");
  std::vector<Json> result;
  result.reserve(array->size());
  for (std::size_t i = 0; i < array->size(); ++i)
    result.push_back(child((*array)[i], fmt::format("[{}]", i)));
  return result;
}

std::int64_t Json::integer(std::int64_t least, std::int64_t most) const {
  const auto* value = std::get_if<std::int64_t>(&value_->is);
  if (value == nullptr || *value < least || *value > most)
    refuse(most == INT64_MAX
               ? fmt::format("a whole number of at least {}", least)
               : fmt::format("a whole number from {} to {}", least, most));
  return *value;
}

std::uint64_t Json::unsigned_integer() const {
  if (const auto* large = std::get_if<std::uint64_t>(&value_->is))
    return *large;
  const auto* value = std::get_if<std::int64_t>(&value_->is);
  if (value == nullptr || *value < 0) refuse("a whole number of at least 0");
  return static_cast<std::uint64_t>(*value);
}

double Json::real() const {
  if (const auto* value = std::get_if<double>(&value_->is)) return *value;
  if (const auto* large = std::get_if<std::uint64_t>(&value_->is))
    return static_cast<double>(*large);
  const auto* whole = std::get_if<std::int64_t>(&value_->is);
  if (whole == nullptr) refuse("a number");
  return static_cast<double>(*whole);
}

bool Json::boolean() const {
  const auto* value = std::get_if<bool>(&value_->is);
  if (value == nullptr) refuse("true or false");
  return *value;
}

const std::string& Json::string() const {
  const auto* value = std::get_if<std::string>(&value_->is);
  if (value == nullptr) refuse("a string");
  return *value;
}

std::string Json::text() const { return to_library(*value_).dump(2); }

std::string Json::where() const {
  if (path_.empty()) return document_->source;
  return document_->source + ": " + path_;
}

void Json::refuse(std::string_view expected) const {
  std::string got;
  switch (kind()) {
    case Kind::kObject:
      got = "an object";
      break;
    case Kind::kArray:
      got = "an array";
      break;
    default:
      got = shortened(text());
  }
  throw UsageError(
      fmt::format("{}: got {}; expected {}", where(), got, expected));
}

}  // namespace quire::checkpoint
