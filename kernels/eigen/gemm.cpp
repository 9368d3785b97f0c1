#include "quire/kernels/cpu/gemm.h"

#define EIGEN_DONT_PARALLELIZE
#include <Eigen/Core>
#include <mutex>

namespace quire::kernels {
namespace {

using Matrix =
    Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Stride = Eigen::OuterStride<>;
using Stored = Eigen::Map<const Matrix, Eigen::Unaligned, Stride>;
using Result = Eigen::Map<Matrix, Eigen::Unaligned, Stride>;

// Blocks of a product follow from the sizes of caches, which Eigen asks the
// processor for: set, so that one build gives the same bits everywhere.
void set_cache_sizes() {
  static std::once_flag once;
  std::call_once(once,
                 [] { Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 4 << 20); });
}

Stored stored(const float* data, std::int64_t rows, std::int64_t cols,
              std::int64_t stride) {
  return {data, rows, cols, Stride(stride)};
}

template <class A, class B>
void add_product(Result& c, float alpha, const A& a, const B& b) {
  c.noalias() += alpha * (a * b);
}

template <class A>
void add_product(Result& c, const Gemm& args, const A& a) {
  if (args.transpose_b) {
    const Stored b = stored(args.b, args.n, args.k, args.b_stride);
    add_product(c, args.alpha, a, b.transpose());
  } else {
    add_product(c, args.alpha, a,
                stored(args.b, args.k, args.n, args.b_stride));
  }
}

}  // namespace

void gemm(const Gemm& args) {
  if (args.m == 0 || args.n == 0) return;
  set_cache_sizes();
  Result c(args.c, args.m, args.n, Stride(args.c_stride));
  if (args.beta == 0.0f) {
    c.setZero();
  } else if (args.beta != 1.0f) {
    c *= args.beta;
  }
  if (args.k == 0) return;
  if (args.transpose_a) {
    const Stored a = stored(args.a, args.k, args.m, args.a_stride);
    add_product(c, args, a.transpose());
  } else {
    add_product(c, args, stored(args.a, args.m, args.k, args.a_stride));
  }
}

}  // namespace quire::kernels
