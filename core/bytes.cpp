#include "quire/core/bytes.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "quire/core/error.h"

namespace quire {
namespace {

constexpr std::array<std::string_view, 7> kUnits = {"B",   "KiB", "MiB", "GiB",
                                                    "TiB", "PiB", "EiB"};
constexpr int kParsedUnits = 6;
constexpr int kMaxFractionDigits = 9;

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw UsageError(
      fmt::format("\"{}\" is no size in bytes: {}; write a number and a unit, "
                  "as 1000, 24MiB or 1.5GiB",
                  text, why));
}

std::int64_t parse_digits(std::string_view digits, std::string_view text) {
  std::int64_t value = 0;
  if (digits.empty() || digits.front() == '-')
    refuse(text, "digits are missing");
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) refuse(text, "too large");
  if (error != std::errc() || end != digits.data() + digits.size())
    refuse(text, "digits are missing");
  return value;
}

int parse_unit(std::string_view unit, std::string_view text) {
  if (unit.empty()) return 0;
  for (int i = 0; i < kParsedUnits; ++i) {
    if (unit == kUnits[static_cast<std::size_t>(i)]) return i;
  }
  refuse(text, "the unit must be B, KiB, MiB, GiB, TiB or PiB");
}

// The bytes of 0.DIGITS units of 2^shift, rounded down.
std::int64_t fraction_bytes(std::string_view digits, int shift,
                            std::string_view text) {
  if (digits.size() > kMaxFractionDigits)
    refuse(text, "at most 9 digits may follow the point");
  std::int64_t scale = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) scale *= 10;
  const auto scaled = static_cast<unsigned __int128>(parse_digits(digits, text))
                      << shift;
  return static_cast<std::int64_t>(scaled /
                                   static_cast<unsigned __int128>(scale));
}

}  // namespace

std::string format_bytes(std::int64_t bytes) {
  if (-1024 < bytes && bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 1023.95 and above would print as 1024.0.
  while (std::abs(value) >= (unit == 0 ? 1024.0 : 1023.95) &&
         unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::int64_t parse_bytes(std::string_view text) {
  const auto number_end =
      std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = text.substr(0, number_end);
  auto unit_text = text.substr(number_end);
  if (unit_text.starts_with(' ')) unit_text.remove_prefix(1);
  const int shift = 10 * parse_unit(unit_text, text);
  const auto point = std::min(number.find('.'), number.size());
  const auto whole = parse_digits(number.substr(0, point), text);
  if (whole > (std::numeric_limits<std::int64_t>::max() >> shift))
    refuse(text, "too large");
  if (point == number.size()) return whole << shift;
  if (shift == 0) refuse(text, "a byte has no parts");
  return (whole << shift) +
         fraction_bytes(number.substr(point + 1), shift, text);
}

}  // namespace quire
