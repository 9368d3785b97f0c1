#include "quire/core/text.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace quire {
namespace {

// Levenshtein, 1966; one row of the table at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view wanted,
                    std::span<const std::string> known) {
  if (known.empty()) return "";
  return *std::ranges::min_element(known, {}, [&](const std::string& name) {
    return edit_distance(wanted, name);
  });
}

bool matches_glob(std::string_view glob, std::string_view text) {
  std::size_t g = 0, t = 0;
  std::size_t star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g, ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;  // the last star takes one byte more
      t = ++resume;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

bool matches_any_glob(std::span<const std::string> globs,
                      std::string_view text) {
  return std::ranges::any_of(
      globs, [&](const auto& glob) { return matches_glob(glob, text); });
}

std::string listed(std::span<const std::string> lines, std::string_view start) {
  constexpr std::size_t kEnd = 25;
  std::string text;
  const auto add = [&](std::span<const std::string> some) {
    for (const std::string& line : some) text.append(start).append(line);
  };
  if (lines.size() <= 2 * kEnd) {
    add(lines);
    return text;
  }
  add(lines.first(kEnd));
  text.append(start).append(
      "... and " + std::to_string(lines.size() - 2 * kEnd) + " more ...");
  add(lines.last(kEnd));
  return text;
}

std::string progress_bar(std::int64_t done, std::int64_t total) {
  constexpr double kWidth = 40.0;
  const double part =
      total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1.0;
  std::string bar(static_cast<std::size_t>(kWidth), ' ');
  const auto full =
      static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * kWidth);
  std::fill_n(bar.begin(), full, '#');
  return "[" + bar + "]";
}

std::string counted(std::int64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) +
         (count == 1 ? "" : "s");
}

}  // namespace quire
