// The loss stands outside the model, so that what it divides by is known before
// any forward: the engine adds the weights of all lanes, as integers, and seeds
// every backward with 1 / total.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quire/autograd/operations.h"
#include "quire/core/batch.h"
#include "quire/nn/values.h"

namespace quire::nn {

// Const and without state: shared by all ranks of a process.
class Loss {
 public:
  virtual ~Loss() = default;

  // What the lane counts for, from the data alone: its valid targets, its
  // examples. Not negative.
  virtual std::int64_t weight(const Batch& lane) const = 0;

  struct Metric {
    std::string name;
    double sum;  // added exactly over the lanes of a step
  };
  struct Result {
    Var sum;  // [1] fp32: the sum over what weight() counts
    std::vector<Metric> metrics = {};  // the same names for every lane
  };
  virtual Result forward(const Values& out, const Batch& lane) const = 0;
};

// Cross-entropy of the model's only output (logits [..., V]) with the batch's
// "targets" (i32).
class CrossEntropy final : public Loss {
 public:
  using Options = autograd::CrossEntropyOptions;
  explicit CrossEntropy(Options options = {}) : options_(options) {}
  // The labels other than `ignore`; all of them on the meta device.
  std::int64_t weight(const Batch& lane) const override;
  Result forward(const Values& out, const Batch& lane) const override;

 private:
  Options options_;
};

}  // namespace quire::nn
