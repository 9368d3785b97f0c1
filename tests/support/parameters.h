// A tape's parameters in plain tensors: what the engine's shards and slots are
// to a run, for tests.
#pragma once

#include <vector>

#include "quire/autograd/tape.h"
#include "quire/nn/model.h"
#include "tests/support/tensors.h"

namespace quire::testing {

class PlainParameters final : public autograd::ParameterSource {
 public:
  // Value i is that of parameter i. Gradients come from `allocator`.
  PlainParameters(std::vector<Tensor> values, Allocator& allocator)
      : values_(std::move(values)),
        frozen_(values_.size(), false),
        gradients_(values_.size()),
        allocator_(&allocator) {}

  Tensor value(int id) override { return values_.at(index(id)); }
  bool trainable(int id) const override { return !frozen_.at(index(id)); }
  Gradient gradient(int id) override;

  void set(int id, Tensor value) { values_.at(index(id)) = std::move(value); }
  void freeze(int id) { frozen_.at(index(id)) = true; }
  // fp32; undefined if no backward has given one.
  const Tensor& gradient_of(int id) const { return gradients_.at(index(id)); }
  int contributions() const { return contributions_; }
  void clear_gradients();

 private:
  static std::size_t index(int id) { return static_cast<std::size_t>(id); }

  std::vector<Tensor> values_;
  std::vector<bool> frozen_;
  std::vector<Tensor> gradients_;
  Allocator* allocator_;
  int contributions_ = 0;
};

// A model's initial values, functions of (1, name), rounded to `compute`; its
// frozen parameters are not trainable.
PlainParameters initial_parameters(const nn::Model& model, Cpu& cpu,
                                   DType compute = DType::kF32);

}  // namespace quire::testing
