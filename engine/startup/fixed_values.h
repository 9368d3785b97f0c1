// Tensors whose values are the same on every machine, whatever the run.
#pragma once

#include <map>
#include <string_view>

#include "quire/autograd/tape.h"
#include "quire/core/allocator.h"
#include "quire/core/stream.h"
#include "quire/nn/model.h"

namespace quire::engine {

// Type and shape of a tensor.
struct TensorKind {
  DType dtype;
  Shape shape;
};

class FixedValues {
 public:
  FixedValues(Allocator& allocator, Stream& stream)
      : allocator_(&allocator), stream_(&stream) {}

  // fp32 and bf16: uniform in [-bound, bound), by (name, element); else zero.
  struct Wanted {
    std::string_view name;
    float bound;
    Category category;
  };
  Tensor make(const TensorKind& kind, const Wanted& wanted) const;

 private:
  Allocator* allocator_;
  Stream* stream_;
};

// Parameters of a tape: fixed values, and gradients, each from its first use
// until the source dies.
class FixedParameters final : public autograd::ParameterSource {
 public:
  FixedParameters(const nn::Model& model, DType compute, Allocator& allocator,
                  Stream& stream)
      : model_(&model),
        compute_(compute),
        allocator_(&allocator),
        values_(allocator, stream) {}

  Tensor value(int id) override;
  bool trainable(int id) const override { return info(id).trainable; }
  Gradient gradient(int id) override;

  // What gradient() was asked for, by id.
  const std::map<int, Tensor>& gradients() const { return gradients_; }

 private:
  const nn::ParameterInfo& info(int id) const { return model_->parameter(id); }

  const nn::Model* model_;
  DType compute_;
  Allocator* allocator_;
  FixedValues values_;
  std::map<int, Tensor> held_;
  std::map<int, Tensor> gradients_;
};

}  // namespace quire::engine
