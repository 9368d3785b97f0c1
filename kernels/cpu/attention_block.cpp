#include "quire/kernels/cpu/attention_block.h"

#include "quire/kernels/cpu/gemm.h"
#include "quire/kernels/cpu/rows.h"
#include "quire/kernels/cpu/transpose.h"
#include "quire/kernels/detail/element_types.h"

namespace quire::kernels::attention {
namespace {

// Whoever calls it says m, n and k.
Gemm gemm_of(const Operands& product) {
  return {.m = 0,
          .n = 0,
          .k = 0,
          .a = product.a.data,
          .a_stride = product.a.stride,
          .b = product.b.data,
          .b_stride = product.b.stride,
          .c = product.to.data,
          .c_stride = product.to.stride,
          .alpha = product.factor};
}

}  // namespace

View read(const HeadRows& at, float* scratch) {
  if (at.heads.data.dtype() == DType::kF32)
    return {at.data<float>(), at.heads.stride};
  widen_block({at.rows, at.width}, at.data<BFloat16>(), at.heads.stride,
              scratch);
  return {scratch, at.width};
}

View read_turned(const HeadRows& at, float* scratch) {
  visit_compute_type(at.heads.data.dtype(), [&]<class T>(T) {
    widen_transposed({at.rows, at.width}, at.data<T>(), at.heads.stride,
                     scratch);
  });
  return {scratch, at.rows};
}

View results(const HeadRows& at, float* scratch) {
  if (at.heads.data.dtype() == DType::kF32)
    return {at.data<float>(), at.heads.stride};
  return {scratch, at.width};
}

void write(const HeadRows& at, const View& from) {
  if (at.heads.data.dtype() == DType::kF32) return;
  narrow_block({at.rows, at.width}, from.data, at.data<BFloat16>(),
               at.heads.stride);
}

void clear(const View& view, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i)
    std::fill_n(view.data + i * view.stride, columns, 0.0f);
}

void dot_rows(const Block& block, const Operands& product) {
  Gemm args = gemm_of(product);
  args.m = block.rows;
  args.n = block.keys();
  args.k = block.shape.width;
  args.b += block.first_key();
  gemm(args);
}

void mix(const Block& block, const Operands& product) {
  Gemm args = gemm_of(product);
  args.m = block.rows;
  args.n = block.shape.width;
  args.k = block.keys();
  args.b += block.first_key() * args.b_stride;
  gemm(args);
}

void spread(const Block& block, const Operands& product) {
  Gemm args = gemm_of(product);
  args.m = block.keys();
  args.n = block.shape.width;
  args.k = block.rows;
  args.c += block.first_key() * args.c_stride;
  args.beta = 1.0f;
  args.transpose_a = true;
  gemm(args);
}

}  // namespace quire::kernels::attention
