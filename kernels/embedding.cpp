#include "quire/kernels/embedding.h"

#include <fmt/format.h>

#include "quire/kernels/detail/arguments.h"

namespace quire::kernels {
namespace {

bool fits(const Tensor& ids, const Tensor& table, const Tensor& rows) {
  return ids.dtype() == DType::kI32 && ids.shape().rank() == 1 &&
         is_compute_type(table.dtype()) && table.shape().rank() == 2 &&
         is_compute_type(rows.dtype()) &&
         rows.shape() == Shape{ids.dim(0), table.dim(1)};
}

}  // namespace

void check(const EmbeddingForward& args) {
  const auto all = {Argument{"ids", args.ids}, Argument{"table", args.table},
                    Argument{"y", args.y}};
  require_one_device("embedding_forward", all);
  if (!fits(args.ids, args.table, args.y) ||
      args.y.dtype() != args.table.dtype()) {
    refuse("embedding_forward",
           "ids i32 [M], table [V, C] and y [M, C] of one type, fp32 or bf16",
           all);
  }
}

void check(const EmbeddingBackward& args) {
  const auto all = {Argument{"ids", args.ids}, Argument{"dy", args.dy},
                    Argument{"dtable", args.dtable}};
  require_one_device("embedding_backward", all);
  if (!fits(args.ids, args.dtable, args.dy) ||
      args.dtable.dtype() != DType::kF32) {
    refuse("embedding_backward",
           "ids i32 [M], dy [M, C] fp32 or bf16, dtable fp32 [V, C]", all);
  }
}

void check_ids(const Tensor& ids, const Tensor& table) {
  const auto* id = ids.data<std::int32_t>();
  for (std::int64_t i = 0; i < ids.numel(); ++i) {
    if (id[i] >= 0 && id[i] < table.dim(0)) continue;
    throw UsageError(fmt::format(
        "embedding: got id {} at position {}; expected ids in [0, {}), the "
        "rows of the table {}; check the tokens against the vocabulary",
        id[i], i, table.dim(0), table.shape().to_string()));
  }
}

}  // namespace quire::kernels
