// Which of a model's foreign tensors each parameter comes from, and what does
// not fit.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quire/convert/huggingface/foreign_weights.h"

namespace quire::convert {

struct Match {
  const ForeignTensor* tensor;
  bool transposed;
};

class Matching {
 public:
  // REQUIRES: `model` outlives it. UsageError for a name with and without the
  // prefix, and for a tied head that is not the table.
  explicit Matching(const ForeignModel& model);

  // UsageError if the description has more layers than there are tensors.
  void require_layers() const;
  // None if it is not there or does not fit.
  std::optional<Match> take(const std::string& parameter, const Shape& shape);
  // UsageError with all problems, and all tensors that nobody took.
  void require_fit() const;

 private:
  void take_head();

  const ForeignModel& model_;
  std::unordered_map<std::string, const ForeignTensor*> tensors_;
  std::size_t given_;
  std::vector<std::string> problems_;
};

}  // namespace quire::convert
