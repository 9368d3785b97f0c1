#include "quire/core/detail/memory_account.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "quire/core/bytes.h"
#include "quire/core/error.h"

namespace quire {
namespace {

constexpr std::string_view kAdvice =
    "reduce batch.lane_samples, use more ranks or a higher ZeRO stage, "
    "recompute, or raise the budget";

}  // namespace

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
