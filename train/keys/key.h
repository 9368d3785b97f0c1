// A key of the configuration: how it is read, checked, written and explained.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quire/train/config.h"

namespace quire::train {

using Json = nlohmann::ordered_json;

// What a key's difference means for a checkpoint that is resumed.
enum class OnResume : std::uint8_t {
  kFree,
  kWarned,
  kOfStates,  // refused if the optimizer has other states then, else warned
  kRefused
};

struct Key {
  std::string name;         // "optimizer.lr"
  std::string expected;     // "a whole number of at least 1"
  std::string description;  // one sentence, no full stop
  // Puts a value into the configuration; "" or what is wrong with it.
  std::function<std::string(const Json&, RunConfig&)> set = {};
  // The value as JSON that `set` takes; null: it is left out.
  std::function<Json(const RunConfig&)> get = {};

  bool needed = false;
  bool text = false;  // an override's value is taken as it is written
  OnResume on_resume = OnResume::kFree;
  // What it applies to; empty: all.
  std::vector<std::string> optimizers = {};
  std::vector<std::string> models = {};
  std::string fallback = {};  // the keys that it takes its default from
};

bool applies(const Key& key, const RunConfig& config);
// "optimizer.type adamw": what it does not apply to. REQUIRES: it does not.
std::string misfit(const Key& key, const RunConfig& config);

// All keys, section by section.
std::span<const Key> key_table();
const Key* find_key(std::string_view name);
// Also a name in front of keys: "optimizer".
bool is_section(std::string_view name);
// The key that somebody means who wrote `name`, which is none.
std::string nearest_key(const std::string& name);

// A value as messages show it, shortened.
std::string shown(const Json& value);
// "optimizer.lr is "fast"; expected a number above 0"
std::string mismatch(std::string_view name, const Json& value,
                     std::string_view expected);

}  // namespace quire::train
