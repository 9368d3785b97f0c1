#include "quire/train/keys/key.h"

#include <fmt/format.h>

#include <algorithm>

#include "quire/core/text.h"

namespace quire::train {
namespace {

std::string last_part(const std::string& name) {
  return name.substr(name.rfind('.') + 1);
}

bool is_of(const std::vector<std::string>& types, std::string_view type) {
  return types.empty() || std::ranges::find(types, type) != types.end();
}

}  // namespace

const Key* find_key(std::string_view name) {
  for (const Key& key : key_table()) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

bool is_section(std::string_view name) {
  const std::string start = std::string(name) + ".";
  return std::ranges::any_of(
      key_table(), [&](const Key& key) { return key.name.starts_with(start); });
}

std::string nearest_key(const std::string& name) {
  // A key in the wrong place first, then one that is mistyped: with its
  // section, or without.
  std::vector<std::string> misplaced, names, parts;
  for (const Key& key : key_table()) {
    names.push_back(key.name);
    parts.push_back(last_part(key.name));
    if (parts.back() == last_part(name)) misplaced.push_back(key.name);
  }
  if (!misplaced.empty()) return nearest(name, misplaced);
  std::vector<std::string> all = names;
  all.insert(all.end(), parts.begin(), parts.end());
  const std::string found = nearest(name, all);
  const auto at = std::find(all.begin(), all.end(), found) - all.begin();
  return names[static_cast<std::size_t>(at) % names.size()];
}

bool applies(const Key& key, const RunConfig& config) {
  return is_of(key.optimizers, config.optimizer.type) &&
         is_of(key.models, models::type_of(config.model));
}

std::string misfit(const Key& key, const RunConfig& config) {
  return is_of(key.models, models::type_of(config.model))
             ? fmt::format("optimizer.type {}", config.optimizer.type)
             : fmt::format("model.type {}", models::type_of(config.model));
}

std::string shown(const Json& value) {
  constexpr std::size_t kMost = 60;
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

std::string mismatch(std::string_view name, const Json& value,
                     std::string_view expected) {
  return fmt::format("{} is {}; expected {}", name, shown(value), expected);
}

}  // namespace quire::train
