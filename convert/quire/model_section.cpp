#include "quire/convert/quire/model_section.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <variant>

#include "quire/core/text.h"

namespace quire::convert {
namespace {

using checkpoint::Json;
using Scaling = nn::RotaryOptions::Scaling;

// Far above any model; products of two stay within 63 bits.
constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 1;

// What a run remembers besides the model itself.
constexpr std::array<std::string_view, 6> kOfRuns = {
    "type", "from", "freeze", "fresh", "ignore", "rename"};
// Sizes that may be 0 and may be left out; all others are needed.
constexpr std::array<std::string_view, 2> kMayBeZero = {
    "window", "rope_original_context"};

bool holds(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

void read(const Json& json, std::string_view name, std::int64_t& value) {
  value = json.integer(holds(kMayBeZero, name) ? 0 : 1, kMost);
}
void read(const Json& json, std::string_view, float& value) {
  value = static_cast<float>(json.real());
}
void read(const Json& json, std::string_view, bool& value) {
  value = json.boolean();
}

// Its place in `names`.
std::size_t index_of(const Json& json,
                     std::span<const std::string_view> names) {
  const auto found = std::ranges::find(names, json.string());
  if (found == names.end())
    json.refuse(fmt::format("one of \"{}\"", fmt::join(names, "\", \"")));
  return static_cast<std::size_t>(found - names.begin());
}

void read(const Json& json, std::string_view, Scaling& value) {
  value = static_cast<Scaling>(index_of(json, models::kScalings));
}

std::string written(std::int64_t value) { return fmt::format("{}", value); }
std::string written(float value) { return fmt::format("{}", value); }
std::string written(bool value) { return value ? "true" : "false"; }
std::string written(Scaling value) {
  return fmt::format("\"{}\"",
                     models::kScalings[static_cast<std::size_t>(value)]);
}

template <class Visit>
void each(models::Options& options, const Visit& visit) {
  std::visit([&](auto& chosen) { models::each_field(chosen, visit); }, options);
}

void require_known(const Json& section, models::Options options) {
  std::vector<std::string> names;
  each(options,
       [&](std::string_view name, auto&) { names.emplace_back(name); });
  for (const auto& [key, value] : section.members()) {
    if (holds(kOfRuns, key) || std::ranges::find(names, key) != names.end())
      continue;
    value.refuse(fmt::format("an option of {}: \"{}\" is the nearest",
                             models::type_of(options), nearest(key, names)));
  }
}

models::Options options_of_type(const Json& type) {
  return models::options_of(models::kTypes[index_of(type, models::kTypes)]);
}

}  // namespace

models::Options read_model_section(const Json& config) {
  const Json section = config.at("model");
  models::Options options = options_of_type(section.at("type"));
  require_known(section, options);
  each(options, [&](std::string_view name, auto& value) {
    constexpr bool kIsSize =
        std::is_same_v<std::decay_t<decltype(value)>, std::int64_t>;
    if (const auto found = section.find(name))
      read(*found, name, value);
    else if (kIsSize && !holds(kMayBeZero, name))
      section.at(name);
  });
  return options;
}

std::string model_section_of(const models::Options& options) {
  std::string text =
      fmt::format(R"({{"model": {{"type": "{}")", models::type_of(options));
  auto copy = options;
  each(copy, [&](std::string_view name, auto& value) {
    text += fmt::format(R"(, "{}": {})", name, written(value));
  });
  return text + "}}";
}

}  // namespace quire::convert
