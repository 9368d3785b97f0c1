#include "quire/comm/detail/key.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "quire/core/error.h"

namespace quire::comm {
namespace {

bool is_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

}  // namespace

void check_key(const std::string& key) {
  constexpr std::size_t kLongest = 200;  // a file's name holds 255
  if (!key.empty() && key.size() <= kLongest &&
      std::all_of(key.begin(), key.end(), is_key_character)) {
    return;
  }
  throw UsageError(fmt::format(
      "got the key \"{}\" of a store; expected 1 to {} of [A-Za-z0-9._-]", key,
      kLongest));
}

void check_value(const std::string& key, const std::string& value) {
  constexpr std::size_t kLargest = 64 << 10;
  if (value.size() <= kLargest) return;
  throw UsageError(
      fmt::format("got a value of {} bytes for the key {} of a store; expected "
                  "at most {}",
                  value.size(), key, kLargest));
}

long long counter_of(const std::string& key, const std::string& text) {
  long long value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec == std::errc() && result.ptr == end) return value;
  throw UsageError(fmt::format(
      "the key {} of a store holds \"{}\"; expected a counter's number", key,
      text));
}

}  // namespace quire::comm
