#include "quire/train/keys/kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quire::train {
namespace {

Key described(Described what, std::string expected) {
  Key key;
  key.name = std::move(what.name);
  key.description = std::move(what.description);
  key.expected = std::move(expected);
  return key;
}

// A field is reached through a configuration that may be changed.
template <class T>
T value_of(const Field<T>& field, RunConfig config) {
  return field(config);
}

// The shortest decimal that reads back to the same float.
double shortest(float value) { return std::stod(fmt::format("{}", value)); }
double shortest(double value) { return value; }

template <class T>
Key whole_key(Described what, WholeRange range, Field<T> field) {
  range.most =
      std::min<std::int64_t>(range.most, std::numeric_limits<T>::max());
  Key key = described(std::move(what), text_of(range));
  key.set = [name = key.name, range, field](const Json& value,
                                            RunConfig& config) {
    const auto number = whole_in(value, range);
    if (!number) return mismatch(name, value, text_of(range));
    field(config) = static_cast<T>(*number);
    return std::string();
  };
  key.get = [field](const RunConfig& config) {
    return Json(value_of(field, config));
  };
  return key;
}

template <class T>
Key real_key(Described what, const RealRange& range, Field<T> field) {
  Key key = described(std::move(what), range.text);
  key.set = [name = key.name, range, field](const Json& value,
                                            RunConfig& config) {
    const auto number = real_in(value, range);
    // What a float rounds to must be in the range, too.
    if (!number || !range.holds(static_cast<T>(*number)))
      return mismatch(name, value, range.text);
    field(config) = static_cast<T>(*number);
    return std::string();
  };
  key.get = [field](const RunConfig& config) {
    return Json(shortest(value_of(field, config)));
  };
  return key;
}

bool is_finite_in_fp32(double value) {
  return std::isfinite(static_cast<float>(value));
}

}  // namespace

const RealRange kAboveZero = {
    "a number above 0 that fp32 can hold", [](double value) {
      return static_cast<float>(value) > 0 && is_finite_in_fp32(value);
    }};
const RealRange kFromZero = {
    "a number of at least 0 that fp32 can hold",
    [](double value) { return value >= 0 && is_finite_in_fp32(value); }};
const RealRange kFraction = {
    "a number from 0 up to, but not, 1",
    [](double value) { return value >= 0 && static_cast<float>(value) < 1; }};
const RealRange kUnit = {"a number from 0 to 1",
                         [](double value) { return value >= 0 && value <= 1; }};

std::string text_of(const WholeRange& range) {
  return range.most == std::numeric_limits<std::int64_t>::max()
             ? fmt::format("a whole number of at least {}", range.least)
             : fmt::format("a whole number from {} to {}", range.least,
                           range.most);
}

std::optional<std::int64_t> whole_in(const Json& value,
                                     const WholeRange& range) {
  if (!value.is_number_integer()) return std::nullopt;
  // Above 63 bits the library stores it unsigned.
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() >
          std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    return std::nullopt;
  const auto number = value.get<std::int64_t>();
  if (number < range.least || number > range.most) return std::nullopt;
  return number;
}

std::optional<double> real_in(const Json& value, const RealRange& range) {
  if (!value.is_number()) return std::nullopt;
  const double number = value.get<double>();
  if (!std::isfinite(number) || !range.holds(number)) return std::nullopt;
  return number;
}

Key whole(Described what, WholeRange range, Field<std::int64_t> field) {
  return whole_key(std::move(what), range, std::move(field));
}

Key whole(Described what, WholeRange range, Field<int> field) {
  return whole_key(std::move(what), range, std::move(field));
}

Key real(Described what, const RealRange& range, Field<double> field) {
  return real_key(std::move(what), range, std::move(field));
}

Key real(Described what, const RealRange& range, Field<float> field) {
  return real_key(std::move(what), range, std::move(field));
}

Key flag(Described what, Field<bool> field) {
  Key key = described(std::move(what), "true or false");
  key.set = [key, field](const Json& value, RunConfig& config) {
    if (!value.is_boolean()) return mismatch(key.name, value, key.expected);
    field(config) = value.get<bool>();
    return std::string();
  };
  key.get = [field](const RunConfig& config) {
    return Json(value_of(field, config));
  };
  return key;
}

Key text(Described what, Field<std::string> field) {
  Key key = described(std::move(what), "a path, as text");
  key.text = true;
  key.set = [key, field](const Json& value, RunConfig& config) {
    if (!value.is_string()) return mismatch(key.name, value, key.expected);
    field(config) = value.get<std::string>();
    return std::string();
  };
  key.get = [field](const RunConfig& config) {
    const std::string value = value_of(field, config);
    return value.empty() ? Json() : Json(value);
  };
  return key;
}

Key patterns(Described what, Field<std::vector<std::string>> field) {
  Key key =
      described(std::move(what), "an array of patterns of names: [\"*.bias\"]");
  key.set = [key, field](const Json& value, RunConfig& config) {
    const auto is_name = [](const Json& element) {
      return element.is_string() && !element.get<std::string>().empty();
    };
    if (!value.is_array() || !std::ranges::all_of(value, is_name))
      return mismatch(key.name, value, key.expected);
    field(config) = value.get<std::vector<std::string>>();
    return std::string();
  };
  key.get = [field](const RunConfig& config) {
    const auto globs = value_of(field, config);
    return globs.empty() ? Json() : Json(globs);
  };
  return key;
}

std::string listed(std::span<const std::string> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

Key choice(Described what, std::vector<std::string> names,
           std::function<void(RunConfig&, std::size_t)> set,
           std::function<std::size_t(const RunConfig&)> get) {
  Key key = described(std::move(what), listed(names));
  key.text = true;
  key.set = [key, names, set](const Json& value, RunConfig& config) {
    const auto found = std::find(names.begin(), names.end(), value);
    if (found == names.end()) return mismatch(key.name, value, key.expected);
    set(config, static_cast<std::size_t>(found - names.begin()));
    return std::string();
  };
  key.get = [names, get](const RunConfig& config) {
    return Json(names.at(get(config)));
  };
  return key;
}

}  // namespace quire::train
