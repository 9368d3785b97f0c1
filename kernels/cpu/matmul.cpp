#include "quire/kernels/matmul.h"

#include <algorithm>

#include "quire/kernels/check.h"
#include "quire/kernels/cpu/gemm.h"
#include "quire/kernels/cpu/panels.h"
#include "quire/kernels/cpu/ranges.h"
#include "quire/kernels/cpu/rows.h"
#include "quire/kernels/element_types.h"

namespace quire::kernels {
namespace {

// Of K, what bf16 operands are widened for at a time.
constexpr std::int64_t kDepth = 1024;

// [M, N, K] and the panels of c.
struct Plan {
  explicit Plan(const Matmul& args)
      : k(args.a.dim(args.transpose_a ? 0 : 1)),
        panels(args.c.dim(0), args.c.dim(1)) {}

  std::int64_t depth() const { return std::min(k, kDepth); }
  // Floats of one worker: slices of a and of b, and the sums.
  std::int64_t scratch() const {
    return (panels.rows() + panels.columns()) * depth() +
           panels.rows() * panels.columns();
  }

  std::int64_t k;
  Panels panels;
};

template <class T>
void fill_with_bias(const Matmul& args, const Panel& panel, float* c,
                    std::int64_t stride) {
  const T* bias = args.bias.data<T>() + panel.column;
  for (std::int64_t i = 0; i < panel.rows; ++i)
    widen(bias, c + i * stride, panel.columns);
}

// Where the rows [row, ...) of op(a) and the columns [column, ...) of op(b)
// begin, from depth k0.
template <class T>
const T* rows_of_a(const Matmul& args, std::int64_t row, std::int64_t k0) {
  const std::int64_t stride = args.a.dim(1);
  return args.a.data<T>() +
         (args.transpose_a ? k0 * stride + row : row * stride + k0);
}
template <class T>
const T* columns_of_b(const Matmul& args, std::int64_t column,
                      std::int64_t k0) {
  const std::int64_t stride = args.b.dim(1);
  return args.b.data<T>() +
         (args.transpose_b ? column * stride + k0 : k0 * stride + column);
}

// All of fp32: one call over the whole of K, in place.
void multiply_in_place(const Matmul& args, const Plan& plan,
                       const Panel& panel) {
  const std::int64_t stride = args.c.dim(1);
  float* c = args.c.data<float>() + panel.row * stride + panel.column;
  if (args.bias.defined()) fill_with_bias<float>(args, panel, c, stride);
  const bool adds = args.bias.defined() || args.accumulate;
  gemm({.m = panel.rows,
        .n = panel.columns,
        .k = plan.k,
        .a = rows_of_a<float>(args, panel.row, 0),
        .a_stride = args.a.dim(1),
        .b = columns_of_b<float>(args, panel.column, 0),
        .b_stride = args.b.dim(1),
        .c = c,
        .c_stride = stride,
        .beta = adds ? 1.0f : 0.0f,
        .transpose_a = args.transpose_a,
        .transpose_b = args.transpose_b});
}

// sums += op(a) op(b) of depth [k0, k0 + depth), both widened.
template <class T>
void add_slice(const Matmul& args, const Panel& panel, std::int64_t k0,
               std::int64_t depth, float* scratch, float* sums) {
  const BlockShape a_shape = args.transpose_a ? BlockShape{depth, panel.rows}
                                              : BlockShape{panel.rows, depth};
  const BlockShape b_shape = args.transpose_b
                                 ? BlockShape{panel.columns, depth}
                                 : BlockShape{depth, panel.columns};
  float* a = scratch;
  float* b = scratch + panel.rows * depth;
  widen_block(a_shape, rows_of_a<T>(args, panel.row, k0), args.a.dim(1), a);
  widen_block(b_shape, columns_of_b<T>(args, panel.column, k0), args.b.dim(1),
              b);
  gemm({.m = panel.rows,
        .n = panel.columns,
        .k = depth,
        .a = a,
        .a_stride = a_shape.columns,
        .b = b,
        .b_stride = b_shape.columns,
        .c = sums,
        .c_stride = panel.columns,
        .beta = 1.0f,
        .transpose_a = args.transpose_a,
        .transpose_b = args.transpose_b});
}

// Another type: sums in fp32 scratch over slices of K in order, rounded once.
template <class T, class C>
void multiply_widened(const Matmul& args, const Plan& plan, const Panel& panel,
                      float* scratch) {
  const BlockShape shape{panel.rows, panel.columns};
  const std::int64_t stride = args.c.dim(1);
  C* c = args.c.data<C>() + panel.row * stride + panel.column;
  float* sums = scratch + plan.scratch() - shape.rows * shape.columns;
  if (args.accumulate) {
    widen_block(shape, c, stride, sums);
  } else if (args.bias.defined()) {
    fill_with_bias<T>(args, panel, sums, panel.columns);
  } else {
    std::fill_n(sums, shape.rows * shape.columns, 0.0f);
  }
  for (std::int64_t k0 = 0; k0 < plan.k; k0 += kDepth)
    add_slice<T>(args, panel, k0, std::min(kDepth, plan.k - k0), scratch, sums);
  narrow_block(shape, sums, c, stride);
}

bool all_fp32(const Matmul& args) {
  return args.a.dtype() == DType::kF32 && args.c.dtype() == DType::kF32;
}

void run(const Matmul& args, const Plan& plan, const Tensor& scratch,
         ThreadPool& pool) {
  pool.parallel_for(plan.panels.count(), [&](std::int64_t index, int worker) {
    const Panel panel = plan.panels[index];
    if (all_fp32(args)) return multiply_in_place(args, plan, panel);
    visit_compute_type(args.a.dtype(), [&]<class T>(T) {
      visit_compute_type(args.c.dtype(), [&]<class C>(C) {
        multiply_widened<T, C>(args, plan, panel,
                               scratch.data<float>() + worker * plan.scratch());
      });
    });
  });
}

// Columns of one panel of sum_rows: their sums stay in registers and the first
// cache while the rows stream by.
constexpr std::int64_t kStrip = 256;

template <class T>
void sum_strip(const SumRows& args, std::int64_t begin, std::int64_t end) {
  float sums[kStrip] = {};
  const std::int64_t columns = args.x.dim(1), n = end - begin;
  const T* x = args.x.data<T>() + begin;
  for (std::int64_t m = 0; m < args.x.dim(0); ++m, x += columns) {
    for (std::int64_t i = 0; i < n; ++i) sums[i] += static_cast<float>(x[i]);
  }
  float* y = args.y.data<float>() + begin;
  for (std::int64_t i = 0; i < n; ++i)
    y[i] = args.accumulate ? y[i] + sums[i] : sums[i];
}

}  // namespace

void matmul(const Matmul& args, Stream& stream) {
  check(args);
  const Plan plan(args);
  Tensor scratch;
  if (!all_fp32(args)) {
    scratch = stream.scratch().allocate(
        DType::kF32, Shape{stream.pool().threads(), plan.scratch()},
        Category::kWorkspace);
  }
  if (args.c.is_meta()) return;
  ThreadPool& pool = stream.pool();
  stream.submit(
      [args, plan, scratch, &pool] { run(args, plan, scratch, pool); });
}

void sum_rows(const SumRows& args, Stream& stream) {
  check(args);
  if (args.x.is_meta()) return;
  ThreadPool& pool = stream.pool();
  stream.submit([args, &pool] {
    for_ranges(pool, args.x.dim(1), kStrip,
               [&](std::int64_t begin, std::int64_t end) {
                 visit_compute_type(args.x.dtype(), [&]<class T>(T) {
                   sum_strip<T>(args, begin, end);
                 });
               });
  });
}

}  // namespace quire::kernels
