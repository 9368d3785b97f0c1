// Matrix product in the layouts of a linear layer, and the sum over rows that
// its bias needs.
//
// The product is cut into panels of c whose shape depends on (M, N) alone; one
// thread computes a panel over the whole of K, in library calls of fixed shape
// and order; threads take panels. So the bits do not depend on the number of
// threads.
//
// While a product runs, the stack pointer of its threads may lie within a
// buffer. A signal handler needs a stack of its own (SA_ONSTACK) there, or the
// thread holds the signal back.
#pragma once

#include "quire/core/stream.h"
#include "quire/core/tensor.h"

namespace quire::kernels {

// c[M, N] = op(a)[M, K] op(b)[K, N] (+ bias) (+ c), sums in fp32, rounded once
// to c's type. a, b: fp32 or bf16, of one type. c: fp32 or bf16. All three of
// rank 2, c overlaps neither.
//   forward   y[M, N]   = x[M, K] w[N, K]^T + bias
//             {.a = x, .b = w, .c = y, .bias = bias, .transpose_b = true}
//   input     dx[M, K]  = dy[M, N] w[N, K]
//             {.a = dy, .b = w, .c = dx}
//   weight    dw[N, K] += dy[M, N]^T x[M, K]
//             {.a = dy, .b = x, .c = dw, .transpose_a = true,
//              .accumulate = true}
struct Matmul {
  Tensor a;  // [M, K], or [K, M] if transpose_a
  Tensor b;  // [K, N], or [N, K] if transpose_b
  Tensor c;  // [M, N], overwritten or accumulated into
  // [N], of a's type, added to every row; undefined: none. Not together with
  // accumulate.
  Tensor bias = {};
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;  // REQUIRES c fp32
};
// Throws UsageError naming the shapes or types that do not fit.
void matmul(const Matmul& args, Stream& stream);

// y[N] (+)= sum over rows of x[M, N], rows added in order in fp32. x: fp32 or
// bf16; y: fp32.
struct SumRows {
  Tensor x;
  Tensor y;
  bool accumulate = false;
};
void sum_rows(const SumRows& args, Stream& stream);

// Every implementation begins with it: UsageError naming the kernel and what it
// got unless the arguments are as above.
void check(const Matmul& args);
void check(const SumRows& args);

namespace reference {
void matmul(const Matmul& args, Stream& stream);
void sum_rows(const SumRows& args, Stream& stream);
}  // namespace reference

}  // namespace quire::kernels
