#include "quire/kernels/embedding.h"

#include <vector>

#include "quire/autograd/arguments.h"
#include "quire/autograd/operations.h"

namespace quire::autograd {
namespace {

constexpr std::string_view kName = "embedding";

Tape& checked(const Var& ids, const Var& table) {
  Tape& tape = tape_of(kName, {{"ids", ids}, {"table", table}});
  compute_tape_of(kName, {{"table", table}});
  if (ids.dtype() != DType::kI32 || table.shape().rank() != 2 ||
      ids.shape().rank() >= Shape::kMaxRank)
    refuse(kName, {{"ids", ids}, {"table", table}},
           "ids i32 [...] and table [V, C]");
  return tape;
}

Shape result_shape(const Shape& ids, std::int64_t width) {
  std::vector<std::int64_t> extents(ids.extents().begin(), ids.extents().end());
  extents.push_back(width);
  return Shape(std::span<const std::int64_t>(extents));
}

}  // namespace

Var embedding(const Var& ids, const Var& table) {
  Tape& tape = checked(ids, table);
  Tensor y =
      tape.allocate(table.dtype(), result_shape(ids.shape(), table.dim(1)));
  const Tensor flat = ids.value().view({ids.value().numel()});
  kernels::embedding_forward(
      {.ids = flat, .table = table.value(), .y = as_matrix(y)}, tape.stream());
  const Var inputs[] = {ids, table};
  return tape.record(kName, std::move(y), inputs,
                     [flat, table = table.without_value()](const Tensor& dy) {
                       Tape& tape = table.tape();
                       const auto slot = tape.gradient_slot(table);
                       kernels::embedding_backward(
                           {.ids = flat,
                            .dy = as_matrix(dy),
                            .dtable = slot.tensor,
                            .accumulate = slot.accumulate},
                           tape.stream());
                       tape.finish_slot(table, slot);
                     });
}

}  // namespace quire::autograd
