// Which of a model's foreign tensors each parameter comes from, and what does
// not fit.
#pragma once

#include <map>
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
  // prefix, for a tied head that is not the table, and for a name to be
  // replaced that is not there.
  Matching(const ForeignModel& model, const OpenOptions& options);

  // UsageError if the description has more layers than there are tensors.
  void require_layers() const;
  // None if it is not there or does not fit; in a partial reading of whatever
  // shape.
  std::optional<Match> take(const std::string& parameter, const Shape& shape);
  // In a partial reading, the tensors that nobody took, by their own names.
  std::map<std::string, Match> rest();
  // Those that made way for one that was renamed.
  const std::vector<std::string>& made_way() const { return made_way_; }
  // Of the rest, those that no parameter can be: one line each.
  const std::vector<std::string>& passed_over() const { return passed_over_; }
  // UsageError with all problems, and all tensors that nobody took.
  void require_fit() const;

 private:
  void add(const ForeignTensor& tensor, const OpenOptions& options);
  bool makes_way(const ForeignTensor& tensor, const std::string& plain,
                 const OpenOptions& options);
  void take_head();
  std::string foreign_start() const;

  const ForeignModel& model_;
  bool partial_;
  std::unordered_map<std::string, const ForeignTensor*> tensors_;
  std::size_t given_;
  std::size_t taken_ = 0;
  std::vector<std::string> problems_;
  std::vector<std::string> passed_over_;
  std::vector<std::string> made_way_;
};

}  // namespace quire::convert
