// One matrix product on the calling thread: what panels are made of.
#pragma once

#include <cstdint>

namespace quire::kernels {

// c[m, n] = alpha op(a)[m, k] op(b)[k, n] + beta c, row-major, with the strides
// of their rows as stored. beta 0 does not read c.
struct Gemm {
  std::int64_t m, n, k;
  const float* a;
  std::int64_t a_stride;
  const float* b;
  std::int64_t b_stride;
  float* c;
  std::int64_t c_stride;
  float alpha = 1.0f;
  float beta = 0.0f;
  bool transpose_a = false;  // a is stored [k, m]
  bool transpose_b = false;  // b is stored [n, k]
};
// The bits of c are a function of the values, m, n, k, the strides and the
// flags.
void gemm(const Gemm& args);

}  // namespace quire::kernels
