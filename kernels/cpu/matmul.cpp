#include "quire/kernels/matmul.h"

#include <algorithm>

#include "quire/kernels/cpu/gemm.h"
#include "quire/kernels/cpu/panels.h"
#include "quire/kernels/cpu/ranges.h"
#include "quire/kernels/cpu/rows.h"
#include "quire/kernels/cpu/transpose.h"
#include "quire/kernels/detail/element_types.h"

namespace quire::kernels {
namespace {

// Of K, what is copied to scratch at a time.
constexpr std::int64_t kDepth = 384;
// From this many rows on it pays to turn a slice of b over first.
constexpr std::int64_t kFewRows = 16;

// The panels of c and where their operands are read: in place, or slice by
// slice from scratch.
struct Plan {
  explicit Plan(const Matmul& args)
      : k(args.a.dim(args.transpose_a ? 0 : 1)),
        panels(args.c.dim(0), args.c.dim(1)),
        copies_a(args.a.dtype() != DType::kF32),
        turns_b(args.transpose_b && panels.rows() >= kFewRows),
        copies_b(copies_a || turns_b),
        copies_c(args.c.dtype() != DType::kF32),
        depth(copies_b ? std::min(k, kDepth) : k) {}

  // Floats of one worker.
  std::int64_t scratch_of_a() const {
    return copies_a ? panels.rows() * depth : 0;
  }
  std::int64_t scratch_of_b() const {
    return copies_b ? panels.columns() * depth : 0;
  }
  std::int64_t scratch_of_c() const {
    return copies_c ? panels.rows() * panels.columns() : 0;
  }
  std::int64_t scratch() const {
    return scratch_of_a() + scratch_of_b() + scratch_of_c();
  }

  std::int64_t k;
  Panels panels;
  bool copies_a, turns_b, copies_b, copies_c;
  std::int64_t depth;
};

struct Operand {
  const float* data;
  std::int64_t stride;
  bool transposed;
};

// A block of a tensor as it is stored: in place, or widened into scratch.
Operand stored(const Tensor& x, std::int64_t first, BlockShape shape,
               float* scratch) {
  if (x.dtype() == DType::kF32)
    return {x.data<float>() + first, x.dim(1), false};
  widen_block(shape, x.data<BFloat16>() + first, x.dim(1), scratch);
  return {scratch, shape.columns, false};
}

// Of depth [k0, k0 + depth).
struct Slice {
  std::int64_t k0, depth;
};

Operand slice_of_a(const Matmul& args, const Panel& panel, const Slice& slice,
                   float* scratch) {
  const std::int64_t stride = args.a.dim(1);
  if (!args.transpose_a) {
    return stored(args.a, panel.row * stride + slice.k0,
                  {panel.rows, slice.depth}, scratch);
  }
  Operand a = stored(args.a, slice.k0 * stride + panel.row,
                     {slice.depth, panel.rows}, scratch);
  a.transposed = true;
  return a;
}

Operand slice_of_b(const Matmul& args, const Plan& plan, const Panel& panel,
                   const Slice& slice, float* scratch) {
  const std::int64_t stride = args.b.dim(1);
  if (!args.transpose_b) {
    return stored(args.b, slice.k0 * stride + panel.column,
                  {slice.depth, panel.columns}, scratch);
  }
  const std::int64_t first = panel.column * stride + slice.k0;
  const BlockShape shape{panel.columns, slice.depth};
  if (!plan.turns_b) {
    Operand b = stored(args.b, first, shape, scratch);
    b.transposed = true;
    return b;
  }
  visit_compute_type(args.b.dtype(), [&]<class T>(T) {
    widen_transposed(shape, args.b.data<T>() + first, stride, scratch);
  });
  return {scratch, panel.columns, false};
}

// Where the sums of a panel are made, and what is there before the first.
struct Sums {
  float* data;
  std::int64_t stride;
  float beta;
};

std::int64_t first_of(const Matmul& args, const Panel& panel) {
  return panel.row * args.c.dim(1) + panel.column;
}

Sums begin_sums(const Matmul& args, const Plan& plan, const Panel& panel,
                float* scratch) {
  Sums sums{scratch, panel.columns, args.accumulate ? 1.0f : 0.0f};
  if (!plan.copies_c)
    sums = {args.c.data<float>() + first_of(args, panel), args.c.dim(1),
            sums.beta};
  if (!args.bias.defined()) return sums;
  visit_compute_type(args.bias.dtype(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < panel.rows; ++i)
      widen(args.bias.data<T>() + panel.column, sums.data + i * sums.stride,
            panel.columns);
  });
  sums.beta = 1.0f;
  return sums;
}

void end_sums(const Matmul& args, const Plan& plan, const Panel& panel,
              const Sums& sums) {
  if (!plan.copies_c) return;
  narrow_block({panel.rows, panel.columns}, sums.data,
               args.c.data<BFloat16>() + first_of(args, panel), args.c.dim(1));
}

// Slices of K in order, so that every element is one chain of sums.
void multiply_panel(const Matmul& args, const Plan& plan, const Panel& panel,
                    float* scratch) {
  float* const for_b = scratch + plan.scratch_of_a();
  Sums sums = begin_sums(args, plan, panel, for_b + plan.scratch_of_b());
  std::int64_t k0 = 0;
  do {
    const Slice slice{k0, std::min(plan.depth, plan.k - k0)};
    const Operand a = slice_of_a(args, panel, slice, scratch);
    const Operand b = slice_of_b(args, plan, panel, slice, for_b);
    gemm({.m = panel.rows,
          .n = panel.columns,
          .k = slice.depth,
          .a = a.data,
          .a_stride = a.stride,
          .b = b.data,
          .b_stride = b.stride,
          .c = sums.data,
          .c_stride = sums.stride,
          .beta = sums.beta,
          .transpose_a = a.transposed,
          .transpose_b = b.transposed});
    sums.beta = 1.0f;
    k0 += slice.depth;
  } while (k0 < plan.k);
  end_sums(args, plan, panel, sums);
}

void run(const Matmul& args, const Plan& plan, const Tensor& scratch,
         ThreadPool& pool) {
  float* const first = scratch.defined() ? scratch.data<float>() : nullptr;
  pool.parallel_for(plan.panels.count(), [&](std::int64_t index, int worker) {
    multiply_panel(args, plan, plan.panels[index],
                   first + worker * plan.scratch());
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
  if (plan.scratch() > 0) {
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
