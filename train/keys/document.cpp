#include "quire/train/keys/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "quire/checkpoint/json.h"
#include "quire/core/error.h"

namespace quire::train {
namespace {

constexpr int kMostDepth = checkpoint::Json::kMostDepth;

[[noreturn]] void refuse_depth(const std::string& place) {
  throw UsageError(
      fmt::format("{}: it nests deeper than {} levels; expected keys in "
                  "sections",
                  place, kMostDepth));
}

// Follows the parser through what is open. Refuses a key that stands twice, of
// which the library would let the last win in silence, and what nests deeper
// than a checkpoint's documents may: the library shows and copies by recursion.
class Guard {
 public:
  // `place`: where the text stands, in front of the keys.
  explicit Guard(std::string place, std::string section = "")
      : place_(std::move(place)), section_(std::move(section)) {}

  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    const bool opens =
        event == Event::object_start || event == Event::array_start;
    if (opens && depth >= kMostDepth) refuse_depth(place_);
    if (event == Event::object_start) open_.emplace_back();
    if (event == Event::object_end) open_.pop_back();
    if (event == Event::key) take(parsed.get<std::string>());
    return true;
  }

 private:
  struct Object {
    std::set<std::string> keys = {};
    std::string current = {};
  };

  void take(const std::string& key) {
    open_.back().current = key;
    if (open_.back().keys.insert(key).second) return;
    std::string path = section_;
    for (const Object& object : open_)
      path += (path.empty() ? "" : ".") + object.current;
    throw UsageError(fmt::format(
        "{}: {} stands twice in one object; expected it once", place_, path));
  }

  std::string place_, section_;
  std::vector<Object> open_;
};

// What the library says after its own preamble and position.
std::string reason_of(const Json::parse_error& error) {
  const std::string text = error.what();
  const auto at = text.find("column ");
  const auto colon = text.find(": ", at == std::string::npos ? 0 : at);
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

[[noreturn]] void refuse_syntax(const std::string& text,
                                const std::string& name,
                                const Json::parse_error& error) {
  const std::size_t at = std::min(error.byte, text.size());
  const std::string before = text.substr(0, at > 0 ? at - 1 : 0);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const auto column = before.size() - (before.rfind('\n') + 1) + 1;
  throw UsageError(
      fmt::format("{}:{}:{}: {}", name, line, column, reason_of(error)));
}

Json parse(const std::string& text, const std::string& name) {
  try {
    return Json::parse(text, Guard(name), true, true);
  } catch (const Json::parse_error& error) {
    refuse_syntax(text, name, error);
  } catch (const Json::exception& error) {
    throw UsageError(fmt::format("{}: {}", name, error.what()));
  }
}

struct Assignment {
  std::string key;
  std::string value;
};

Assignment split(const std::string& assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UsageError(
        fmt::format("--set {}: expected KEY=VALUE: zero.stage=2", assignment));
  }
  const std::string key = assignment.substr(0, equals);
  if (std::ranges::count(key, '.') >= kMostDepth) refuse_depth("--set " + key);
  return {key, assignment.substr(equals + 1)};
}

Json value_of(const Assignment& assignment) {
  const Key* key = find_key(assignment.key);
  const bool text = key != nullptr && key->text;
  Json::parser_callback_t guard;
  if (!text) guard = Guard("--set " + assignment.key, assignment.key);
  Json value = Json::parse(assignment.value, guard, false);
  if (value.is_string() || !(text || value.is_discarded())) return value;
  value = assignment.value;
  try {
    value.dump();
  } catch (const Json::exception&) {
    throw UsageError(fmt::format(
        "--set {}: the value is no UTF-8; expected text", assignment.key));
  }
  return value;
}

// The member or element `part` of `node`, made if an object lacks it; nullptr
// if there can be none.
Json* step_into(Json& node, const std::string& part) {
  if (node.is_null()) node = Json::object();
  if (node.is_object()) return &node[part];
  std::size_t index = 0;
  const auto [end, error] =
      std::from_chars(part.data(), part.data() + part.size(), index);
  const bool number = error == std::errc() && end == part.data() + part.size();
  if (!node.is_array() || !number || index >= node.size()) return nullptr;
  return &node[index];
}

bool starts_with_path(const std::string& path, const std::string& start) {
  return path == start || path.starts_with(start + ".");
}

}  // namespace

ConfigDocument::ConfigDocument(const std::string& text, std::string name)
    : name_(std::move(name)), tree_(parse(text, name_)) {
  if (!tree_.is_object()) {
    throw UsageError(
        fmt::format("{}: the document is {}; expected an object of keys", name_,
                    shown(tree_)));
  }
}

void ConfigDocument::assign(const std::string& assignment) {
  const Assignment given = split(assignment);
  Json* node = &tree_;
  for (std::size_t begin = 0; begin <= given.key.size();) {
    const auto end = std::min(given.key.find('.', begin), given.key.size());
    Json* next = step_into(*node, given.key.substr(begin, end - begin));
    if (next == nullptr) {
      throw UsageError(fmt::format("--set {}: {} is {}, which has no {}",
                                   assignment,
                                   given.key.substr(0, begin ? begin - 1 : 0),
                                   shown(*node), given.key.substr(begin)));
    }
    node = next;
    begin = end + 1;
  }
  *node = value_of(given);
  assigned_[given.key] = assignment;
}

void ConfigDocument::check_names() const { check_names(tree_, ""); }

void ConfigDocument::check_names(const Json& object,
                                 const std::string& path) const {
  for (const auto& [part, value] : object.items()) {
    const std::string name = path.empty() ? part : path + "." + part;
    if (find_key(name) != nullptr) continue;
    if (!is_section(name)) refuse_unknown(name, value);
    if (!value.is_object()) {
      refuse(name, mismatch(name, value, "an object of keys"));
    }
    check_names(value, name);
  }
}

void ConfigDocument::refuse_unknown(const std::string& key,
                                    const Json& value) const {
  if (value.is_object() && !value.empty()) {
    refuse_unknown(key + "." + value.items().begin().key(), value.front());
  }
  refuse(key,
         fmt::format("{} is no key; the nearest is {}", key, nearest_key(key)));
}

const Json* ConfigDocument::find(const std::string& key) const {
  const Json* node = &tree_;
  for (std::size_t begin = 0; begin <= key.size();) {
    const auto end = std::min(key.find('.', begin), key.size());
    const auto member = node->find(key.substr(begin, end - begin));
    if (member == node->end()) return nullptr;
    node = &*member;
    begin = end + 1;
  }
  return node;
}

void ConfigDocument::fill(const std::string& key, Json value) {
  Json* node = &tree_;
  for (std::size_t begin = 0; begin <= key.size();) {
    const auto end = std::min(key.find('.', begin), key.size());
    node = &(*node)[key.substr(begin, end - begin)];
    begin = end + 1;
  }
  *node = std::move(value);
}

void ConfigDocument::refuse(const std::string& key,
                            const std::string& problem) const {
  std::string where = name_;
  for (const auto& [name, assignment] : assigned_) {
    if (starts_with_path(key, name) || starts_with_path(name, key))
      where = "--set " + assignment;
  }
  throw UsageError(where + ": " + problem);
}

}  // namespace quire::train
