// The counts of an allocator: bytes per category against a budget, and their
// peaks. Not synchronised.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "quire/core/memory_report.h"

namespace quire {

class MemoryAccount {
 public:
  MemoryAccount(std::string owner, std::optional<std::int64_t> budget_bytes)
      : owner_(std::move(owner)), budget_bytes_(budget_bytes) {}

  // Throws OutOfMemory if add() would exceed the budget.
  void require_room(std::int64_t bytes, Category category) const;
  void add(std::int64_t bytes, Category category);
  void remove(std::int64_t bytes, Category category);
  void reset_peak();

  const MemoryReport& report() const { return report_; }
  std::optional<std::int64_t> budget_bytes() const { return budget_bytes_; }
  // The message for a request that the system refused.
  std::string refused_by_system(std::int64_t bytes, Category category) const;

 private:
  std::string asked(std::int64_t bytes, Category category) const;

  std::string owner_;
  std::optional<std::int64_t> budget_bytes_;
  MemoryReport report_;
};

}  // namespace quire
