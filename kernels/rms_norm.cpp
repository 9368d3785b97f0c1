#include "quire/kernels/rms_norm.h"

#include "quire/kernels/detail/arguments.h"

namespace quire::kernels {
namespace {

bool fits(const Tensor& x, const Tensor& gamma, const Tensor& rstd) {
  return x.shape().rank() == 2 && gamma.dtype() == x.dtype() &&
         gamma.shape() == Shape{x.dim(1)} && rstd.dtype() == DType::kF32 &&
         rstd.shape() == Shape{x.dim(0)};
}

void check_sum(const Tensor& dgamma, const Tensor& x) {
  if (!dgamma.defined()) return;
  require_one_device("rms_norm_backward", {{"x", x}, {"dgamma", dgamma}});
  if (dgamma.dtype() != DType::kF32 || dgamma.shape() != Shape{x.dim(1)}) {
    refuse("rms_norm_backward", "sums over rows of fp32 [C]",
           {{"x", x}, {"dgamma", dgamma}});
  }
}

}  // namespace

void check(const RmsNormForward& args) {
  const auto all = {Argument{"x", args.x}, Argument{"y", args.y},
                    Argument{"gamma", args.gamma}, Argument{"rstd", args.rstd}};
  require_one_device("rms_norm_forward", all);
  require_alike("rms_norm_forward", {{"x", args.x}, {"y", args.y}});
  if (!fits(args.x, args.gamma, args.rstd)) {
    refuse("rms_norm_forward",
           "x and y [M, C], gamma [C] of one type, fp32 or bf16; rstd fp32 [M]",
           all);
  }
}

void check(const RmsNormBackward& args) {
  const auto all = {Argument{"x", args.x}, Argument{"dy", args.dy},
                    Argument{"dx", args.dx}, Argument{"gamma", args.gamma},
                    Argument{"rstd", args.rstd}};
  require_one_device("rms_norm_backward", all);
  require_alike("rms_norm_backward",
                {{"x", args.x}, {"dy", args.dy}, {"dx", args.dx}});
  if (!fits(args.x, args.gamma, args.rstd)) {
    refuse("rms_norm_backward",
           "x, dy and dx [M, C], gamma [C] of one type, fp32 or bf16; rstd "
           "fp32 [M]",
           all);
  }
  check_sum(args.dgamma, args.x);
}

}  // namespace quire::kernels
