// Weights whose tensors have Hugging Face's names and shapes, wherever they
// come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quire/convert/weights.h"

namespace quire::convert {

struct ForeignTensor {
  std::string name;   // as its files say it
  std::string file;   // for messages
  std::string dtype;  // as its files say it: "BF16"
  std::optional<DType> type;
  std::vector<std::int64_t> shape;
  // out = elements from `first` on. REQUIRES: the range lies in the tensor.
  std::function<void(std::int64_t first, std::span<std::byte> out)> read;
};

struct ForeignModel {
  Format format;
  std::string path;
  std::string config;  // the file that describes it
  Description description = {};
  std::vector<ForeignTensor> tensors = {};
  std::vector<std::string> warnings = {};
};

// Finds every parameter among the tensors: with or without the prefix, a copy
// of a tied head if it is equal, buffers skipped. One UsageError lists all that
// are missing, unexpected, of another shape, or of a type that is not real;
// with OpenOptions::partial of such a type alone.
std::unique_ptr<const Weights> match(ForeignModel model,
                                     const OpenOptions& options);

}  // namespace quire::convert
