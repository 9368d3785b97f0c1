#include "quire/engine/startup/fixed_values.h"

#include "quire/kernels/elementwise.h"

namespace quire::engine {
namespace {

// Small enough that sums over any width stay finite in bf16.
constexpr float kParameterBound = 0.1f;

}  // namespace

Tensor FixedValues::make(const TensorKind& kind, const Wanted& wanted) const {
  if (!is_compute_type(kind.dtype))
    return allocator_->zeros(kind.dtype, kind.shape, wanted.category);
  const Tensor result =
      allocator_->allocate(kind.dtype, kind.shape, wanted.category);
  const bool direct = kind.dtype == DType::kF32;
  const Tensor wide = direct ? result
                             : allocator_->allocate(DType::kF32, kind.shape,
                                                    Category::kWorkspace);
  kernels::fill_random({.y = wide,
                        .kind = kernels::FillRandom::Kind::kUniform,
                        .a = -wanted.bound,
                        .b = wanted.bound,
                        .key = random_key(0, wanted.name, 0)},
                       *stream_);
  if (!direct) kernels::cast({.x = wide, .y = result}, *stream_);
  return result;
}

Tensor FixedParameters::value(int id) {
  const auto [place, is_new] = held_.try_emplace(id);
  if (is_new) {
    place->second = values_.make({compute_, info(id).shape},
                                 {.name = info(id).name,
                                  .bound = kParameterBound,
                                  .category = Category::kGathered});
  }
  return place->second;
}

FixedParameters::Gradient FixedParameters::gradient(int id) {
  const auto [place, is_new] = gradients_.try_emplace(id);
  if (is_new) {
    place->second =
        allocator_->allocate(DType::kF32, info(id).shape, Category::kGradients);
  }
  return {.tensor = place->second, .accumulate = !is_new};
}

}  // namespace quire::engine
