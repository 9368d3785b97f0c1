#include "quire/kernels/detail/arguments.h"

#include <fmt/format.h>

#include "quire/core/error.h"

namespace quire::kernels {
namespace {

std::string describe(const Argument& argument) {
  const Tensor& t = argument.tensor;
  if (!t.defined()) return fmt::format("{} undefined", argument.name);
  return fmt::format("{} {} {}{}", argument.name, name_of(t.dtype()),
                     t.shape().to_string(), t.is_meta() ? " (meta)" : "");
}

template <class Holds>
bool all_of(std::initializer_list<Argument> args, Holds holds) {
  for (const Argument& argument : args) {
    if (!holds(argument.tensor)) return false;
  }
  return true;
}

}  // namespace

void refuse(std::string_view kernel, std::string_view expected,
            std::initializer_list<Argument> got) {
  std::string text;
  for (const Argument& argument : got) {
    if (!text.empty()) text += ", ";
    text += describe(argument);
  }
  throw UsageError(
      fmt::format("{}: got {}; expected {}", kernel, text, expected));
}

void require_one_device(std::string_view kernel,
                        std::initializer_list<Argument> args) {
  const bool holds = all_of(args, [&](const Tensor& t) {
    return t.defined() && t.device() == args.begin()->tensor.device();
  });
  if (!holds) refuse(kernel, "defined tensors of one device", args);
}

void require_one_shape(std::string_view kernel,
                       std::initializer_list<Argument> args) {
  require_one_device(kernel, args);
  const bool holds = all_of(args, [&](const Tensor& t) {
    return t.shape() == args.begin()->tensor.shape();
  });
  if (!holds) refuse(kernel, "equal shapes", args);
}

void require_alike(std::string_view kernel,
                   std::initializer_list<Argument> args) {
  require_one_shape(kernel, args);
  const DType type = args.begin()->tensor.dtype();
  const bool holds =
      is_compute_type(type) &&
      all_of(args, [&](const Tensor& t) { return t.dtype() == type; });
  if (!holds) refuse(kernel, "one type, fp32 or bf16", args);
}

}  // namespace quire::kernels
