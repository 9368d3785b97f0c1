// The smallest models whose gradients one can work out by hand.
#pragma once

#include <initializer_list>
#include <vector>

#include "quire/autograd/operations.h"
#include "quire/nn/layer.h"
#include "quire/nn/loss.h"
#include "quire/nn/model.h"
#include "tests/support/tensors.h"

namespace quire::test {

// y = w * x for x [n, 1] and one number w.
class Times final : public nn::Layer {
 public:
  struct Options {
    float start = 0.0f;
    bool trainable = true;
  };
  explicit Times(Options options)
      : w_(*this, "w",
           {.shape = {1},
            .init = nn::constant(options.start),
            .trainable = options.trainable}) {}
  nn::Values forward(const nn::Values& in) const override {
    const nn::Var& x = in.only();
    return autograd::linear(x, autograd::reshape(w_(x.tape()), {1, 1}));
  }

 private:
  nn::Parameter w_;
};

// The sum of what the model gives; its weight is the lane's number of tokens.
class SumLoss final : public nn::Loss {
 public:
  std::int64_t weight(const Batch& lane) const override {
    return static_cast<std::int64_t>(
        testing::values_of(lane.targets[0].tensor)[0]);
  }
  Result forward(const nn::Values& out, const Batch&) const override {
    return {.sum = autograd::sum(out.only()), .metrics = {}};
  }
};

// A lane of tokens x_i.
inline Batch tokens(const std::vector<float>& x) {
  const auto n = static_cast<std::int64_t>(x.size());
  const Tensor count = testing::tensor_of({static_cast<float>(n)}, {1});
  return {.inputs = {{"x", testing::tensor_of(x, {n, 1})}},
          .targets = {{"count", count}}};
}
// A lane of `n` tokens that all are masked.
inline Batch masked(std::int64_t n) {
  return {.inputs = {{"x", testing::zeros({n, 1})}},
          .targets = {{"count", testing::zeros({1})}}};
}

}  // namespace quire::test
