// What a step adds up over its lanes, exactly and so in any order: the same on
// every rank, for any number of ranks.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quire/kernels/exact_sum.h"
#include "quire/nn/loss.h"

namespace quire::engine {

// Trivially copyable: travels in the commit exchange.
struct Totals {
  static constexpr int kMaxMetrics = 8;
  static constexpr int kNameBytes = 32;

  kernels::ExactSum loss;
  kernels::ExactSum squares;  // of the gradient
  std::int64_t weight = 0;
  std::int64_t lanes = 0;  // that were added
  std::int64_t metric_count = 0;
  std::array<kernels::ExactSum, kMaxMetrics> metrics{};
  std::array<std::array<char, kNameBytes>, kMaxMetrics> names{};

  // A lane's. Throws UsageError on too many metrics, a name that is too long,
  // or names or numbers of metrics that differ between lanes.
  void add(double loss_sum, std::span<const nn::Loss::Metric> lane);
  // Another rank's.
  void add(const Totals& other);

 private:
  void require_as_many(std::int64_t more, std::int64_t count) const;
  kernels::ExactSum& metric(int index, std::string_view name);
};

struct MetricValue {
  std::string name;
  double mean;  // over the weight
};
std::vector<MetricValue> metric_means(const Totals& totals);

}  // namespace quire::engine
