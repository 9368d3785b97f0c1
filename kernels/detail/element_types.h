// Runs generic code for the element type of a tensor.
#pragma once

#include "quire/core/dtype.h"

namespace quire::kernels {

// fn(T()) with T float or BFloat16. REQUIRES: is_compute_type(type).
template <class Fn>
void visit_compute_type(DType type, Fn fn) {
  if (type == DType::kF32) {
    fn(float());
  } else {
    fn(BFloat16());
  }
}

// The same with Float16 as well. REQUIRES: is_float_type(type).
template <class Fn>
void visit_float_type(DType type, Fn fn) {
  if (type == DType::kF16) {
    fn(Float16());
  } else {
    visit_compute_type(type, fn);
  }
}

}  // namespace quire::kernels
