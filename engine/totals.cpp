#include "quire/engine/totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "quire/core/error.h"

namespace quire::engine {
namespace {

std::string_view text_of(const std::array<char, Totals::kNameBytes>& name) {
  return name.data();
}

}  // namespace

kernels::ExactSum& Totals::metric(int index, std::string_view name) {
  if (index >= kMaxMetrics || name.size() >= kNameBytes) {
    throw UsageError(
        fmt::format("metric {} \"{}\": a loss has at most {} metrics with "
                    "names of at most {} bytes",
                    index + 1, name, kMaxMetrics, kNameBytes - 1));
  }
  const auto i = static_cast<std::size_t>(index);
  if (index == metric_count) {
    std::ranges::copy(name, names[i].begin());
    ++metric_count;
  }
  if (text_of(names[i]) != name) {
    throw UsageError(
        fmt::format("metric {} is \"{}\" for one lane and \"{}\" for another; "
                    "a loss gives the same names "
                    "for every lane",
                    index + 1, text_of(names[i]), name));
  }
  return metrics[i];
}

// Of what is added; `count` metrics of `more` lanes.
void Totals::require_as_many(std::int64_t more, std::int64_t count) const {
  if (lanes == 0 || more == 0 || count == metric_count) return;
  throw UsageError(
      fmt::format("a loss gives {} metrics for one lane and {} for another; "
                  "expected the same ones for every lane",
                  metric_count, count));
}

void Totals::add(double loss_sum, std::span<const nn::Loss::Metric> lane) {
  require_as_many(1, std::ssize(lane));
  loss.add(loss_sum);
  for (std::size_t i = 0; i < lane.size(); ++i)
    metric(static_cast<int>(i), lane[i].name).add(lane[i].sum);
  ++lanes;
}

void Totals::add(const Totals& other) {
  require_as_many(other.lanes, other.metric_count);
  loss.add(other.loss);
  squares.add(other.squares);
  weight += other.weight;
  for (std::int64_t i = 0; i < other.metric_count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    metric(static_cast<int>(i), text_of(other.names[index]))
        .add(other.metrics[index]);
  }
  lanes += other.lanes;
}

std::vector<MetricValue> metric_means(const Totals& totals) {
  std::vector<MetricValue> result;
  for (std::size_t i = 0; i < static_cast<std::size_t>(totals.metric_count);
       ++i) {
    const double sum = totals.metrics[i].value();
    result.push_back(
        {std::string(text_of(totals.names[i])),
         totals.weight > 0 ? sum / static_cast<double>(totals.weight) : 0.0});
  }
  return result;
}

}  // namespace quire::engine
