// Elements of fp32 and bf16 tensors as fp32.
#pragma once

#include "quire/core/tensor.h"

namespace quire::kernels::reference {

inline float load(const Tensor& x, std::int64_t i) {
  return x.dtype() == DType::kF32 ? x.data<float>()[i]
                                  : static_cast<float>(x.data<BFloat16>()[i]);
}

inline void store(const Tensor& y, std::int64_t i, float value) {
  if (y.dtype() == DType::kF32)
    y.data<float>()[i] = value;
  else
    y.data<BFloat16>()[i] = BFloat16(value);
}

}  // namespace quire::kernels::reference
