// Optimizers update ranges of elements that one rank owns. They hold no state
// of their own: states are tensors that the engine shards, counts and saves by
// name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quire/core/stream.h"
#include "quire/core/tensor.h"

namespace quire::optim {

// Const: shared by all ranks of a process.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  virtual std::string_view type() const = 0;  // "adamw", "sgd"
  // What decides an update beside its Scalars, for ranks to compare: "betas 0.9
  // 0.999 eps 1e-08".
  virtual std::string settings() const = 0;
  // The fp32 states of every element, by name, zero at first: {"exp_avg",
  // "exp_avg_sq"}.
  virtual std::vector<std::string> states() const = 0;

  // One contiguous range of one parameter; all tensors of [n], the states in
  // the order of states().
  struct Range {
    Tensor master;     // fp32
    Tensor gradient;   // fp32, the mean over the step; not changed
    Tensor published;  // master in the compute type; may be master itself
    std::vector<Tensor> states;
  };
  struct Scalars {
    std::int64_t step;  // 1 for the first accepted update: bias correction
    double lr;          // schedule and group included
    double weight_decay;
    double gradient_scale = 1.0;  // clipping
  };
  // Queued on `stream`. Throws UsageError unless the range has the optimizer's
  // states, the step is at least 1, and the tensors are as above.
  virtual void update(const Range& range, const Scalars& scalars,
                      Stream& stream) const = 0;
};

}  // namespace quire::optim
