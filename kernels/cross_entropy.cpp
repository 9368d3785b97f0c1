#include "quire/kernels/cross_entropy.h"

#include <fmt/format.h>

#include "quire/core/error.h"
#include "quire/kernels/detail/arguments.h"

namespace quire::kernels {
namespace {

void require_rows(std::string_view kernel,
                  std::initializer_list<Argument> args) {
  require_one_device(kernel, args);
  const Tensor& logits = args.begin()[0].tensor;
  const Tensor& labels = args.begin()[1].tensor;
  const Tensor& lse = args.begin()[2].tensor;
  const bool holds =
      logits.shape().rank() == 2 && is_compute_type(logits.dtype()) &&
      logits.dim(1) > 0 && labels.shape() == Shape{logits.dim(0)} &&
      labels.dtype() == DType::kI32 && lse.shape() == labels.shape() &&
      lse.dtype() == DType::kF32;
  if (!holds) {
    refuse(kernel, "logits [M, V] fp32 or bf16, labels [M] i32, lse [M] fp32",
           args);
  }
}

}  // namespace

void check(const CrossEntropyForward& args) {
  require_rows(
      "cross_entropy_forward",
      {{"logits", args.logits}, {"labels", args.labels}, {"lse", args.lse}});
}

void check(const CrossEntropyBackward& args) {
  require_rows(
      "cross_entropy_backward",
      {{"logits", args.logits}, {"labels", args.labels}, {"lse", args.lse}});
  require_alike("cross_entropy_backward",
                {{"logits", args.logits}, {"dlogits", args.dlogits}});
}

void check_labels(const Tensor& logits, const Tensor& labels,
                  std::int32_t ignore) {
  const std::int32_t* label = labels.data<std::int32_t>();
  for (std::int64_t row = 0; row < labels.numel(); ++row) {
    const std::int32_t got = label[row];
    if (got != ignore && (got < 0 || got >= logits.dim(1))) {
      throw UsageError(
          fmt::format("cross_entropy: got label {} in row {}; expected [0, {}) "
                      "or {} for a row to ignore",
                      got, row, logits.dim(1), ignore));
    }
  }
}

}  // namespace quire::kernels
