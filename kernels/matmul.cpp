#include "quire/kernels/matmul.h"

#include "quire/kernels/detail/arguments.h"

namespace quire::kernels {
namespace {

bool is_matrix(const Tensor& x) {
  return x.shape().rank() == 2 && is_compute_type(x.dtype());
}

bool shapes_fit(const Matmul& args) {
  const int k_of_a = args.transpose_a ? 0 : 1;
  const int k_of_b = args.transpose_b ? 1 : 0;
  return args.a.dim(k_of_a) == args.b.dim(k_of_b) &&
         args.a.dim(1 - k_of_a) == args.c.dim(0) &&
         args.b.dim(1 - k_of_b) == args.c.dim(1);
}

std::string_view wanted_shapes(const Matmul& args) {
  if (args.transpose_a && args.transpose_b)
    return "a [K, M], b [N, K], c [M, N]";
  if (args.transpose_a) return "a [K, M], b [K, N], c [M, N]";
  if (args.transpose_b) return "a [M, K], b [N, K], c [M, N]";
  return "a [M, K], b [K, N], c [M, N]";
}

void check_bias(const Matmul& args) {
  require_one_device("matmul", {{"c", args.c}, {"bias", args.bias}});
  if (args.bias.dtype() != args.a.dtype() ||
      args.bias.shape() != Shape{args.c.dim(1)}) {
    refuse("matmul", "a bias [N] of a's type",
           {{"a", args.a}, {"c", args.c}, {"bias", args.bias}});
  }
  if (args.accumulate) {
    refuse("matmul", "no bias together with accumulate",
           {{"c", args.c}, {"bias", args.bias}});
  }
}

}  // namespace

void check(const Matmul& args) {
  const auto all = {Argument{"a", args.a}, Argument{"b", args.b},
                    Argument{"c", args.c}};
  require_one_device("matmul", all);
  if (!is_matrix(args.a) || !is_matrix(args.b) || !is_matrix(args.c) ||
      args.a.dtype() != args.b.dtype()) {
    refuse("matmul", "matrices of fp32 or bf16, a and b of one type", all);
  }
  if (!shapes_fit(args)) refuse("matmul", wanted_shapes(args), all);
  if (args.accumulate && args.c.dtype() != DType::kF32) {
    refuse("matmul", "an fp32 c to accumulate into", all);
  }
  if (args.bias.defined()) check_bias(args);
}

void check(const SumRows& args) {
  require_one_device("sum_rows", {{"x", args.x}, {"y", args.y}});
  if (!is_matrix(args.x) || args.y.dtype() != DType::kF32 ||
      args.y.shape() != Shape{args.x.dim(1)}) {
    refuse("sum_rows", "x [M, N] fp32 or bf16, y fp32 [N]",
           {{"x", args.x}, {"y", args.y}});
  }
}

}  // namespace quire::kernels
