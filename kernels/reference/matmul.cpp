#include "quire/kernels/matmul.h"

#include "quire/kernels/reference/elements.h"

namespace quire::kernels::reference {
namespace {

float element(const Matmul& args, std::int64_t m, std::int64_t n) {
  const std::int64_t k_count = args.a.dim(args.transpose_a ? 0 : 1);
  double sum = args.bias.defined() ? load(args.bias, n) : 0.0f;
  for (std::int64_t k = 0; k < k_count; ++k) {
    const std::int64_t a =
        args.transpose_a ? k * args.a.dim(1) + m : m * k_count + k;
    const std::int64_t b =
        args.transpose_b ? n * k_count + k : k * args.b.dim(1) + n;
    sum += static_cast<double>(load(args.a, a)) * load(args.b, b);
  }
  return static_cast<float>(sum);
}

void run(const Matmul& args) {
  const std::int64_t columns = args.c.dim(1);
  for (std::int64_t i = 0; i < args.c.numel(); ++i) {
    const float before = args.accumulate ? load(args.c, i) : 0.0f;
    store(args.c, i, before + element(args, i / columns, i % columns));
  }
}

void run(const SumRows& args) {
  const std::int64_t columns = args.x.dim(1);
  for (std::int64_t n = 0; n < columns; ++n) {
    float sum = 0.0f;
    for (std::int64_t m = 0; m < args.x.dim(0); ++m)
      sum += load(args.x, m * columns + n);
    store(args.y, n, args.accumulate ? load(args.y, n) + sum : sum);
  }
}

}  // namespace

void matmul(const Matmul& args, Stream& stream) {
  check(args);
  if (args.c.is_meta()) return;
  stream.submit([args] { run(args); });
}

void sum_rows(const SumRows& args, Stream& stream) {
  check(args);
  if (args.x.is_meta()) return;
  stream.submit([args] { run(args); });
}

}  // namespace quire::kernels::reference
