// What a rank's memory is for, and how much of it there was.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quire {

enum class Category : std::uint8_t {
  kParameters,  // shards that stay: masters and published values
  kGathered,    // open units
  kGradients,   // lanes' gradients, nodes of the tree, the rank's summed shard
  kOptimizer,   // states

  kActivations,    // saved for backward, and what is alive between layers
  kCommunication,  // arrivals of an exchange
  kWorkspace,      // scratch of kernels

  kSnapshot,  // of the state, while it is written
};
inline constexpr int kCategories = 8;
std::string_view name_of(Category category);

struct MemoryReport {
  std::array<std::int64_t, kCategories> current{};  // bytes
  std::array<std::int64_t, kCategories> peak{};     // each category's own peak
  // The categories when the total peaked.
  std::array<std::int64_t, kCategories> at_peak{};
  std::int64_t total_current = 0;
  std::int64_t total_peak = 0;

  // One line per category: bytes now, at the total's peak, own peak; then the
  // total and the budget if there is one.
  std::string table(std::optional<std::int64_t> budget) const;
};

}  // namespace quire
