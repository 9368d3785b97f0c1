// What one lane sees in one step: named tensors for the model and for the loss.
// All have the same first extent, the number of samples.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "quire/core/tensor.h"

namespace quire {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct Batch {
  std::vector<NamedTensor> inputs;   // the first layer's Values, in this order
  std::vector<NamedTensor> targets;  // what the loss reads

  // Throws UsageError naming what is there.
  const Tensor& input(std::string_view name) const;
  const Tensor& target(std::string_view name) const;
};

}  // namespace quire
