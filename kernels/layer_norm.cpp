#include "quire/kernels/layer_norm.h"

#include "quire/kernels/detail/arguments.h"

namespace quire::kernels {
namespace {

bool is_row(const Tensor& row, const Tensor& x, DType dtype) {
  return row.dtype() == dtype && row.shape() == Shape{x.dim(1)};
}

bool is_column(const Tensor& column, const Tensor& x) {
  return column.dtype() == DType::kF32 && column.shape() == Shape{x.dim(0)};
}

constexpr std::string_view kForward =
    "x and y [M, C], gamma and beta [C] of one type, fp32 or bf16; mean and "
    "rstd fp32 [M]";
constexpr std::string_view kBackward =
    "x, dy and dx [M, C], gamma [C] of one type, fp32 or bf16; mean and rstd "
    "fp32 [M]";

void check_sum(std::string_view name, const Tensor& sum, const Tensor& x) {
  if (!sum.defined()) return;
  require_one_device("layer_norm_backward", {{"x", x}, {name, sum}});
  if (!is_row(sum, x, DType::kF32)) {
    refuse("layer_norm_backward", "sums over rows of fp32 [C]",
           {{"x", x}, {name, sum}});
  }
}

}  // namespace

void check(const LayerNormForward& args) {
  const auto all = {Argument{"x", args.x},         Argument{"y", args.y},
                    Argument{"gamma", args.gamma}, Argument{"beta", args.beta},
                    Argument{"mean", args.mean},   Argument{"rstd", args.rstd}};
  require_one_device("layer_norm_forward", all);
  require_alike("layer_norm_forward", {{"x", args.x}, {"y", args.y}});
  if (args.x.shape().rank() != 2 ||
      !is_row(args.gamma, args.x, args.x.dtype()) ||
      !is_row(args.beta, args.x, args.x.dtype()) ||
      !is_column(args.mean, args.x) || !is_column(args.rstd, args.x)) {
    refuse("layer_norm_forward", kForward, all);
  }
}

void check(const LayerNormBackward& args) {
  const auto all = {Argument{"x", args.x},       Argument{"dy", args.dy},
                    Argument{"dx", args.dx},     Argument{"gamma", args.gamma},
                    Argument{"mean", args.mean}, Argument{"rstd", args.rstd}};
  require_one_device("layer_norm_backward", all);
  require_alike("layer_norm_backward",
                {{"x", args.x}, {"dy", args.dy}, {"dx", args.dx}});
  if (args.x.shape().rank() != 2 ||
      !is_row(args.gamma, args.x, args.x.dtype()) ||
      !is_column(args.mean, args.x) || !is_column(args.rstd, args.x)) {
    refuse("layer_norm_backward", kBackward, all);
  }
  check_sum("dgamma", args.dgamma, args.x);
  check_sum("dbeta", args.dbeta, args.x);
}

}  // namespace quire::kernels
