#include "quire/kernels/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "quire/kernels/cpu/ranges.h"
#include "quire/kernels/cpu/reduce.h"
#include "quire/kernels/cpu/row_blocks.h"
#include "quire/kernels/cpu/vector_exp.h"
#include "quire/kernels/detail/element_types.h"

namespace quire::kernels {
namespace {

// Rows of one panel of the forward.
constexpr std::int64_t kRows = 16;

template <class T>
void normalise_row(const LayerNormForward& args, std::int64_t m) {
  const std::int64_t width = args.x.dim(1);
  const auto count = static_cast<float>(width);
  const T* x = args.x.data<T>() + m * width;
  const T* gamma = args.gamma.data<T>();
  const T* beta = args.beta.data<T>();
  T* y = args.y.data<T>() + m * width;
  const auto at = [=](std::int64_t c) { return static_cast<float>(x[c]); };
  const float mean = sum_terms(width, at) / count;
  const float squares = sum_terms(width, [=](std::int64_t c) {
    const float off = at(c) - mean;
    return off * off;
  });
  const float rstd = 1.0f / std::sqrt(squares / count + args.eps);
  for (std::int64_t c = 0; c < width; ++c) {
    y[c] = T(multiply_add((at(c) - mean) * rstd, static_cast<float>(gamma[c]),
                          static_cast<float>(beta[c])));
  }
  args.mean.data<float>()[m] = mean;
  args.rstd.data<float>()[m] = rstd;
}

// A row's inputs in fp32 terms: g(c) = dy gamma, hat(c) = (x - mean) rstd.
template <class T>
struct Row {
  Row(const LayerNormBackward& args, std::int64_t m)
      : x(args.x.data<T>() + m * args.x.dim(1)),
        dy(args.dy.data<T>() + m * args.x.dim(1)),
        gamma(args.gamma.data<T>()),
        mean(args.mean.data<float>()[m]),
        rstd(args.rstd.data<float>()[m]) {}

  float slope(std::int64_t c) const { return static_cast<float>(dy[c]); }
  float g(std::int64_t c) const {
    return slope(c) * static_cast<float>(gamma[c]);
  }
  float hat(std::int64_t c) const {
    return (static_cast<float>(x[c]) - mean) * rstd;
  }

  const T* x;
  const T* dy;
  const T* gamma;
  float mean, rstd;
};

// dx = rstd (g - mean(g) - hat mean(g hat)).
template <class T>
void differentiate_row(const LayerNormBackward& args, std::int64_t m) {
  const std::int64_t width = args.x.dim(1);
  const auto count = static_cast<float>(width);
  const Row<T> row(args, m);
  T* dx = args.dx.data<T>() + m * width;
  const float mean_g =
      sum_terms(width, [&](std::int64_t c) { return row.g(c); }) / count;
  const float mean_dot =
      sum_terms(width, [&](std::int64_t c) { return row.g(c) * row.hat(c); }) /
      count;
  for (std::int64_t c = 0; c < width; ++c) {
    const float rest = multiply_add(-row.hat(c), mean_dot, row.g(c) - mean_g);
    dx[c] = T(row.rstd * rest);
  }
}

template <class T>
void add_row(const Row<T>& row, float* __restrict dgamma,
             float* __restrict dbeta, std::int64_t width) {
  for (std::int64_t c = 0; c < width; ++c) {
    dgamma[c] = multiply_add(row.slope(c), row.hat(c), dgamma[c]);
    dbeta[c] += row.slope(c);
  }
}

bool wants_sums(const LayerNormBackward& args) {
  return args.dgamma.defined() || args.dbeta.defined();
}

// One block: its dx, and its sums into row `block` of partial [blocks, 2, C].
// The sums are taken first: dx may be dy.
template <class T>
void run_block(const LayerNormBackward& args, const RowBlocks& blocks,
               std::int64_t block, const Tensor& partial) {
  const std::int64_t width = args.x.dim(1);
  const std::int64_t begin = block * blocks.rows_each;
  const std::int64_t end = std::min(args.x.dim(0), begin + blocks.rows_each);
  if (wants_sums(args)) {
    float* sums = partial.data<float>() + block * 2 * width;
    std::fill_n(sums, 2 * width, 0.0f);
    for (std::int64_t m = begin; m < end; ++m)
      add_row(Row<T>(args, m), sums, sums + width, width);
  }
  for (std::int64_t m = begin; m < end; ++m) differentiate_row<T>(args, m);
}

void run(const LayerNormBackward& args, const Tensor& partial,
         ThreadPool& pool) {
  const RowBlocks blocks(args.x.dim(0));
  pool.parallel_for(blocks.count, [&](std::int64_t block, int) {
    visit_compute_type(args.x.dtype(), [&]<class T>(T) {
      run_block<T>(args, blocks, block, partial);
    });
  });
  const std::int64_t width = args.x.dim(1);
  if (args.dgamma.defined()) {
    for_ranges(pool, width, kSumColumns,
               AddBlocks{partial, 0, args.dgamma, args.accumulate_gamma});
  }
  if (args.dbeta.defined()) {
    for_ranges(pool, width, kSumColumns,
               AddBlocks{partial, 1, args.dbeta, args.accumulate_beta});
  }
}

}  // namespace

void layer_norm_forward(const LayerNormForward& args, Stream& stream) {
  check(args);
  if (args.x.is_meta()) return;
  ThreadPool& pool = stream.pool();
  stream.submit([args, &pool] {
    visit_compute_type(args.x.dtype(), [&]<class T>(T) {
      for_ranges(pool, args.x.dim(0), kRows,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t m = begin; m < end; ++m)
                     normalise_row<T>(args, m);
                 });
    });
  });
}

void layer_norm_backward(const LayerNormBackward& args, Stream& stream) {
  check(args);
  Tensor partial;
  if (wants_sums(args)) {
    partial = stream.scratch().allocate(
        DType::kF32, Shape{RowBlocks(args.x.dim(0)).count, 2, args.x.dim(1)},
        Category::kWorkspace);
  }
  if (args.x.is_meta()) return;
  ThreadPool& pool = stream.pool();
  stream.submit([args, partial, &pool] { run(args, partial, pool); });
}

}  // namespace quire::kernels
