#include "quire/kernels/rms_norm.h"

#include <algorithm>
#include <cmath>

#include "quire/kernels/cpu/ranges.h"
#include "quire/kernels/cpu/reduce.h"
#include "quire/kernels/cpu/row_blocks.h"
#include "quire/kernels/cpu/vector_exp.h"
#include "quire/kernels/detail/element_types.h"

namespace quire::kernels {
namespace {

// Elements of one panel of the forward, as whole rows: rows of a head are
// short.
constexpr std::int64_t kElements = std::int64_t{1} << 13;

template <class T>
void normalise_row(const RmsNormForward& args, std::int64_t m) {
  const std::int64_t width = args.x.dim(1);
  const T* x = args.x.data<T>() + m * width;
  const T* gamma = args.gamma.data<T>();
  T* y = args.y.data<T>() + m * width;
  const auto at = [=](std::int64_t c) { return static_cast<float>(x[c]); };
  const float squares =
      sum_terms(width, [=](std::int64_t c) { return at(c) * at(c); });
  const float rstd =
      1.0f / std::sqrt(squares / static_cast<float>(width) + args.eps);
  for (std::int64_t c = 0; c < width; ++c) {
    const T hat = T(at(c) * rstd);
    y[c] = T(static_cast<float>(hat) * static_cast<float>(gamma[c]));
  }
  args.rstd.data<float>()[m] = rstd;
}

// A row's inputs in fp32 terms: g(c) = dy gamma, hat(c) = x rstd.
template <class T>
struct Row {
  Row(const RmsNormBackward& args, std::int64_t m)
      : x(args.x.data<T>() + m * args.x.dim(1)),
        dy(args.dy.data<T>() + m * args.x.dim(1)),
        gamma(args.gamma.data<T>()),
        rstd(args.rstd.data<float>()[m]) {}

  float slope(std::int64_t c) const { return static_cast<float>(dy[c]); }
  float g(std::int64_t c) const {
    return slope(c) * static_cast<float>(gamma[c]);
  }
  float hat(std::int64_t c) const { return static_cast<float>(x[c]) * rstd; }

  const T* x;
  const T* dy;
  const T* gamma;
  float rstd;
};

// dx = rstd (g - hat mean(g hat)).
template <class T>
void differentiate_row(const RmsNormBackward& args, const Row<T>& row,
                       std::int64_t m) {
  const std::int64_t width = args.x.dim(1);
  T* dx = args.dx.data<T>() + m * width;
  const float mean =
      sum_terms(width, [=](std::int64_t c) { return row.g(c) * row.hat(c); }) /
      static_cast<float>(width);
  for (std::int64_t c = 0; c < width; ++c)
    dx[c] = T(row.rstd * multiply_add(-row.hat(c), mean, row.g(c)));
}

template <class T>
void add_row(const Row<T>& row, float* __restrict dgamma, std::int64_t width) {
  for (std::int64_t c = 0; c < width; ++c)
    dgamma[c] = multiply_add(row.slope(c), row.hat(c), dgamma[c]);
}

// One block: its dx, and its sums into row `block` of partial [blocks, 1, C]. A
// row's sums are taken first: dx may be dy.
template <class T>
void run_block(const RmsNormBackward& args, const RowBlocks& blocks,
               std::int64_t block, const Tensor& partial) {
  const std::int64_t width = args.x.dim(1);
  const std::int64_t begin = block * blocks.rows_each;
  const std::int64_t end = std::min(args.x.dim(0), begin + blocks.rows_each);
  const bool sums = partial.defined();
  float* sum = sums ? partial.data<float>() + block * width : nullptr;
  if (sums) std::fill_n(sum, width, 0.0f);
  for (std::int64_t m = begin; m < end; ++m) {
    const Row<T> row(args, m);
    if (sums) add_row(row, sum, width);
    differentiate_row(args, row, m);
  }
}

void run(const RmsNormBackward& args, const Tensor& partial, ThreadPool& pool) {
  const RowBlocks blocks(args.x.dim(0));
  pool.parallel_for(blocks.count, [&](std::int64_t block, int) {
    visit_compute_type(args.x.dtype(), [&]<class T>(T) {
      run_block<T>(args, blocks, block, partial);
    });
  });
  if (!partial.defined()) return;
  for_ranges(pool, args.x.dim(1), kSumColumns,
             AddBlocks{partial, 0, args.dgamma, args.accumulate_gamma});
}

}  // namespace

void rms_norm_forward(const RmsNormForward& args, Stream& stream) {
  check(args);
  if (args.x.is_meta()) return;
  ThreadPool& pool = stream.pool();
  stream.submit([args, &pool] {
    const std::int64_t width = std::max<std::int64_t>(1, args.x.dim(1));
    const std::int64_t rows = std::max<std::int64_t>(1, kElements / width);
    visit_compute_type(args.x.dtype(), [&]<class T>(T) {
      for_ranges(pool, args.x.dim(0), rows,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t m = begin; m < end; ++m)
                     normalise_row<T>(args, m);
                 });
    });
  });
}

void rms_norm_backward(const RmsNormBackward& args, Stream& stream) {
  check(args);
  Tensor partial;
  if (args.dgamma.defined()) {
    partial = stream.scratch().allocate(
        DType::kF32, Shape{RowBlocks(args.x.dim(0)).count, 1, args.x.dim(1)},
        Category::kWorkspace);
  }
  if (args.x.is_meta()) return;
  ThreadPool& pool = stream.pool();
  stream.submit([args, partial, &pool] { run(args, partial, pool); });
}

}  // namespace quire::kernels
