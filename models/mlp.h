// A multi-layer perceptron: Linear and GELU (tanh) in turn.
#pragma once

#include <cstdint>
#include <vector>

#include "quire/nn/model.h"

namespace quire::models {

struct MlpOptions {
  std::vector<std::int64_t> widths;  // input, hidden..., output: at least two
  float dropout = 0.0f;              // after every hidden activation
};

// Input "x" [B, widths.front()]; output [B, widths.back()]. Layers "layer.0"
// ... , the last without activation; initial values as nn::Linear's. Throws
// UsageError unless there are two widths at least, all positive.
nn::Model mlp(const MlpOptions& options);

}  // namespace quire::models
