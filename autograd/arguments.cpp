#include "quire/autograd/arguments.h"

#include <fmt/format.h>

#include <vector>

namespace quire::autograd {
namespace {

std::string described(const Argument& argument) {
  if (!argument.var.defined())
    return fmt::format("{} undefined", argument.name);
  return fmt::format("{} {} {}", argument.name, name_of(argument.var.dtype()),
                     argument.var.shape().to_string());
}

std::string layer_of(Arguments args) {
  for (const Argument& argument : args)
    if (argument.var.defined()) return argument.var.tape().layer();
  return "";
}

}  // namespace

void refuse(std::string_view operation, Arguments got,
            std::string_view expected) {
  std::string list;
  for (const Argument& argument : got)
    list += (list.empty() ? "" : ", ") + described(argument);
  throw UsageError(fmt::format("layer \"{}\", {}: got {}; expected {}",
                               layer_of(got), operation, list, expected));
}

Tape& tape_of(std::string_view operation, Arguments args) {
  for (const Argument& argument : args) {
    if (!argument.var.defined()) refuse(operation, args, "defined variables");
    if (&argument.var.tape() != &args.begin()->var.tape())
      refuse(operation, args, "variables of one tape");
  }
  return args.begin()->var.tape();
}

Tape& compute_tape_of(std::string_view operation, Arguments args) {
  Tape& tape = tape_of(operation, args);
  const DType type = args.begin()->var.dtype();
  bool fits = is_compute_type(type);
  for (const Argument& argument : args)
    fits = fits && argument.var.dtype() == type;
  if (!fits) refuse(operation, args, "all fp32 or all bf16");
  return tape;
}

void require_fraction(std::string_view operation, Arguments got,
                      std::string_view what, float value) {
  if (value >= 0.0f && value < 1.0f) return;
  refuse(
      operation, got,
      fmt::format("a {} of at least 0 and less than 1, not {}", what, value));
}

std::int64_t rows_of(const Shape& shape) {
  std::int64_t rows = 1;
  for (int i = 0; i + 1 < shape.rank(); ++i) rows *= shape[i];
  return rows;
}

Shape with_last(const Shape& shape, std::int64_t last) {
  const auto extents = shape.extents();
  std::vector<std::int64_t> changed(extents.begin(), extents.end());
  changed.back() = last;
  return Shape(std::span<const std::int64_t>(changed));
}

Tensor as_matrix(const Tensor& x) {
  return x.view({rows_of(x.shape()), x.dim(-1)});
}

float scalar_of(const Tensor& x) {
  return x.is_meta() ? 1.0f : x.data<float>()[0];
}

}  // namespace quire::autograd
