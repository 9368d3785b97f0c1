#include "quire/convert/huggingface/config_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace quire::convert {

using checkpoint::Json;

float real_of(const Json& value, float above) {
  const auto real = static_cast<float>(value.real());
  if (!(std::isfinite(real) && real > above))
    value.refuse(fmt::format("a number above {} within fp32", above));
  return real;
}

std::optional<Json> ConfigKeys::given(std::string_view key) {
  asked_.emplace(key);
  auto found = json_.find(key);
  if (found && found->is_null()) return std::nullopt;
  return found;
}

std::int64_t ConfigKeys::size(std::string_view key, Size size) {
  asked_.emplace(key);
  const auto found = json_.find(key);
  return found ? found->integer(1, size.most) : size.missing;
}

bool ConfigKeys::flag(std::string_view key, bool missing) {
  const auto found = given(key);
  return found ? found->boolean() : missing;
}

std::optional<float> ConfigKeys::real(std::string_view key, float above) {
  const auto found = given(key);
  if (!found) return std::nullopt;
  return real_of(*found, above);
}

void ConfigKeys::require_flag(std::string_view key, bool wanted) {
  const auto found = given(key);
  if (found && found->boolean() != wanted)
    found->refuse(fmt::format("{}: nothing else is supported", wanted));
}

void ConfigKeys::require_missing(std::string_view key, std::string_view why) {
  if (const auto found = given(key))
    found->refuse(fmt::format("none: {}", why));
}

void ConfigKeys::require_one_of(std::string_view key,
                                std::initializer_list<std::string_view> names) {
  const auto found = given(key);
  if (found && std::ranges::find(names, found->string()) == names.end())
    found->refuse(fmt::format("\"{}\": nothing else is supported",
                              fmt::join(names, "\" or \"")));
}

void ConfigKeys::pass(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) asked_.emplace(key);
}

std::map<std::string, std::string> ConfigKeys::others() const {
  std::map<std::string, std::string> result;
  for (const auto& [key, value] : json_.members())
    if (!asked_.contains(key)) result.emplace(key, value.text());
  return result;
}

}  // namespace quire::convert
