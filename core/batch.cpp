#include "quire/core/batch.h"

#include <fmt/format.h>

#include <algorithm>

namespace quire {
namespace {

const Tensor& find(const std::vector<NamedTensor>& tensors,
                   std::string_view name, std::string_view kind) {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  if (found != tensors.end()) return found->tensor;
  std::string names;
  for (const auto& tensor : tensors)
    names += (names.empty() ? "" : ", ") + tensor.name;
  throw UsageError(fmt::format("the batch has no {} \"{}\"; it has: {}", kind,
                               name, names.empty() ? "none" : names.c_str()));
}

}  // namespace

const Tensor& Batch::input(std::string_view name) const {
  return find(inputs, name, "input");
}

const Tensor& Batch::target(std::string_view name) const {
  return find(targets, name, "target");
}

}  // namespace quire
