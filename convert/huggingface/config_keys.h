// The keys of a config.json, and which of them have been asked for.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "quire/checkpoint/json.h"

namespace quire::convert {

class ConfigKeys {
 public:
  explicit ConfigKeys(checkpoint::Json json) : json_(std::move(json)) {}

  // null counts as not given. The key has been asked for from here on.
  std::optional<checkpoint::Json> given(std::string_view key);
  // Also null.
  bool stands(std::string_view key) const {
    return json_.find(key).has_value();
  }

  struct Size {
    std::int64_t missing;  // the value if the key is not there
    std::int64_t most;
  };
  // A whole number within [1, most]; null is refused.
  std::int64_t size(std::string_view key, Size size);
  bool flag(std::string_view key, bool missing);
  // Finite and within float's range, above `above`.
  std::optional<float> real(std::string_view key, float above);
  // Refuses another value than `wanted`, which is the one if it is missing.
  void require_flag(std::string_view key, bool wanted);
  void require_missing(std::string_view key, std::string_view why);
  void require_one_of(std::string_view key,
                      std::initializer_list<std::string_view> names);
  // Counts them as asked for.
  void pass(std::initializer_list<std::string_view> keys);

  const checkpoint::Json& json() const { return json_; }
  // All that was not asked for, as JSON.
  std::map<std::string, std::string> others() const;

 private:
  checkpoint::Json json_;
  std::set<std::string, std::less<>> asked_;
};

// The value as a float above `above`; refused else.
float real_of(const checkpoint::Json& value, float above);

}  // namespace quire::convert
