#include "quire/nn/loss.h"

#include <fmt/format.h>

#include <algorithm>

namespace quire::nn {
namespace {

const Tensor& labels_of(const Batch& lane) {
  const Tensor& labels = lane.target("targets");
  if (labels.defined() && labels.dtype() == DType::kI32) return labels;
  throw UsageError(fmt::format(
      "CrossEntropy: the target \"targets\" is {}; expected i32 labels",
      labels.defined() ? fmt::format("{} {}", name_of(labels.dtype()),
                                     labels.shape().to_string())
                       : "undefined"));
}

}  // namespace

std::int64_t CrossEntropy::weight(const Batch& lane) const {
  const Tensor& labels = labels_of(lane);
  if (labels.is_meta()) return labels.numel();
  const auto* data = labels.data<std::int32_t>();
  return labels.numel() -
         std::count(data, data + labels.numel(), options_.ignore);
}

Loss::Result CrossEntropy::forward(const Values& out, const Batch& lane) const {
  return {.sum = autograd::cross_entropy_sum(out.only(), labels_of(lane),
                                             options_)};
}

}  // namespace quire::nn
