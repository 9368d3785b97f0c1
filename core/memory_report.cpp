#include "quire/core/memory_report.h"

#include <fmt/format.h>

#include <iterator>

#include "quire/core/bytes.h"

namespace quire {
namespace {

void append_row(std::string& text, std::string_view name,
                std::array<std::string, 3> cells) {
  fmt::format_to(std::back_inserter(text), "{:<14}{:>12}{:>12}{:>12}\n", name,
                 cells[0], cells[1], cells[2]);
}

}  // namespace

std::string_view name_of(Category category) {
  constexpr std::array<std::string_view, kCategories> kNames = {
      "parameters",  "gathered",      "gradients", "optimizer",
      "activations", "communication", "workspace", "snapshot"};
  return kNames[static_cast<std::size_t>(category)];
}

std::string MemoryReport::table(std::optional<std::int64_t> budget) const {
  std::string text;
  append_row(text, "category", {"now", "at peak", "own peak"});
  for (std::size_t i = 0; i < current.size(); ++i) {
    append_row(text, name_of(static_cast<Category>(i)),
               {format_bytes(current[i]), format_bytes(at_peak[i]),
                format_bytes(peak[i])});
  }
  append_row(text, "total",
             {format_bytes(total_current), format_bytes(total_peak), ""});
  if (budget) append_row(text, "budget", {format_bytes(*budget), "", ""});
  return text;
}

}  // namespace quire
