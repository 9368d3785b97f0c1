// Rows of fp32 or bf16 as rows of fp32 and back.
#pragma once

#include <algorithm>
#include <cstdint>

#include "quire/core/dtype.h"

namespace quire::kernels {

inline void widen(const BFloat16* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(x[i]);
}
inline void widen(const float* x, float* y, std::int64_t n) {
  std::copy_n(x, n, y);
}

// Rounds to nearest even; NaN stays NaN.
inline void narrow(const float* x, BFloat16* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = BFloat16(x[i]);
}
inline void narrow(const float* x, float* y, std::int64_t n) {
  std::copy_n(x, n, y);
}

// A block of rows with a stride, to and from another stride.
struct BlockShape {
  std::int64_t rows;
  std::int64_t columns;
};
template <class T>
void widen_block(BlockShape shape, const T* x, std::int64_t x_stride,
                 float* y) {
  for (std::int64_t i = 0; i < shape.rows; ++i)
    widen(x + i * x_stride, y + i * shape.columns, shape.columns);
}
template <class T>
void narrow_block(BlockShape shape, const float* x, T* y,
                  std::int64_t y_stride) {
  for (std::int64_t i = 0; i < shape.rows; ++i)
    narrow(x + i * shape.columns, y + i * y_stride, shape.columns);
}

}  // namespace quire::kernels
