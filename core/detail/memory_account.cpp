#include "quire/core/detail/memory_account.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "quire/core/bytes.h"
#include "quire/core/error.h"

namespace quire {
namespace {

constexpr std::string_view kAdvice =
    "reduce batch.lane_samples, use more ranks or a higher ZeRO stage, "
    "recompute, or raise the budget";

void append_row(std::string& text, std::string_view name,
                std::array<std::string, 3> cells) {
  fmt::format_to(std::back_inserter(text), "{:<14}{:>12}{:>12}{:>12}\n", name,
                 cells[0], cells[1], cells[2]);
}

}  // namespace

std::string_view name_of(Category category) {
  constexpr std::array<std::string_view, kCategories> kNames = {
      "parameters",  "gathered",      "gradients", "optimizer",
      "activations", "communication", "workspace"};
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

void MemoryAccount::require_room(std::int64_t bytes, Category category) const {
  const std::int64_t limit =
      budget_bytes_.value_or(std::numeric_limits<std::int64_t>::max());
  if (bytes <= limit - report_.total_current) return;
  throw OutOfMemory(fmt::format(
      "{} does not fit the budget of {} bytes ({}), of which {} are in "
      "use\n{}{}",
      asked(bytes, category), limit, format_bytes(limit), report_.total_current,
      report_.table(budget_bytes_), kAdvice));
}

void MemoryAccount::add(std::int64_t bytes, Category category) {
  const auto index = static_cast<std::size_t>(category);
  report_.current[index] += bytes;
  report_.total_current += bytes;
  report_.peak[index] = std::max(report_.peak[index], report_.current[index]);
  if (report_.total_current <= report_.total_peak) return;
  report_.total_peak = report_.total_current;
  report_.at_peak = report_.current;
}

void MemoryAccount::remove(std::int64_t bytes, Category category) {
  report_.current[static_cast<std::size_t>(category)] -= bytes;
  report_.total_current -= bytes;
}

void MemoryAccount::reset_peak() {
  report_.peak = report_.current;
  report_.at_peak = report_.current;
  report_.total_peak = report_.total_current;
}

std::string MemoryAccount::refused_by_system(std::int64_t bytes,
                                             Category category) const {
  return fmt::format("{} was refused by the system\n{}{}",
                     asked(bytes, category), report_.table(budget_bytes_),
                     kAdvice);
}

std::string MemoryAccount::asked(std::int64_t bytes, Category category) const {
  return fmt::format("{}: out of memory: a request of {} bytes ({}) for {}",
                     owner_.empty() ? "allocator" : owner_, bytes,
                     format_bytes(bytes), name_of(category));
}

}  // namespace quire
