#include "quire/kernels/elementwise.h"

#include "quire/kernels/detail/arguments.h"

namespace quire::kernels {
namespace {

// Whether `rows` can be laid repeatedly over x: [C], or [R, C] with R dividing
// x's rows.
bool repeats_over(const Tensor& rows, const Tensor& x) {
  if (x.shape().rank() != 2 || rows.shape().rank() < 1 ||
      rows.shape().rank() > 2 || rows.dim(-1) != x.dim(1)) {
    return false;
  }
  const std::int64_t count = rows.shape().rank() == 1 ? 1 : rows.dim(0);
  return count == 0 ? x.dim(0) == 0 : x.dim(0) % count == 0;
}

constexpr std::string_view kRows =
    "x [M, C] and rows [C] or [R, C] with R dividing M";

}  // namespace

void check(const Add& args) {
  require_alike("add", {{"a", args.a}, {"b", args.b}, {"y", args.y}});
}

void check(const Multiply& args) {
  require_alike("multiply", {{"a", args.a}, {"b", args.b}, {"y", args.y}});
}

void check(const Scale& args) {
  require_alike("scale", {{"x", args.x}, {"y", args.y}});
}

void check(const AddRows& args) {
  require_one_device("add_rows", {{"x", args.x}, {"b", args.b}, {"y", args.y}});
  require_alike("add_rows", {{"x", args.x}, {"y", args.y}});
  if (args.b.dtype() != args.x.dtype() || !repeats_over(args.b, args.x)) {
    refuse("add_rows", kRows, {{"x", args.x}, {"b", args.b}});
  }
}

void check(const AddRowsBackward& args) {
  require_one_device("add_rows_backward", {{"dy", args.dy}, {"db", args.db}});
  if (!is_compute_type(args.dy.dtype()) || args.db.dtype() != DType::kF32 ||
      !repeats_over(args.db, args.dy)) {
    refuse("add_rows_backward",
           "dy [M, C], db fp32 [C] or [R, C], R dividing M",
           {{"dy", args.dy}, {"db", args.db}});
  }
}

void check(const Cast& args) {
  require_one_shape("cast", {{"x", args.x}, {"y", args.y}});
  const bool floats =
      is_float_type(args.x.dtype()) && is_float_type(args.y.dtype());
  const bool copies =
      args.x.dtype() == args.y.dtype() && args.through == DType::kF32;
  if (!is_float_type(args.through) || !(floats || copies)) {
    refuse("cast", "fp32, bf16 or fp16, or equal types and no `through`",
           {{"x", args.x}, {"y", args.y}});
  }
}

void check(const Fill& args) { require_alike("fill", {{"y", args.y}}); }

void check(const FillRandom& args) {
  require_one_device("fill_random", {{"y", args.y}});
  if (args.y.dtype() != DType::kF32 || args.first < 0) {
    refuse("fill_random", "y fp32 and first >= 0", {{"y", args.y}});
  }
}

}  // namespace quire::kernels
