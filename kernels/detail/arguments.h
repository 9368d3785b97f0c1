// How kernels look at their arguments and refuse wrong ones.
#pragma once

#include <initializer_list>
#include <string_view>

#include "quire/core/tensor.h"

namespace quire::kernels {

struct Argument {
  std::string_view name;
  const Tensor& tensor;
};

// Throws UsageError: "KERNEL: got x fp32 [2, 3], y undefined; expected
// EXPECTED".
[[noreturn]] void refuse(std::string_view kernel, std::string_view expected,
                         std::initializer_list<Argument> got);

// Refuses unless all are defined and of one device.
void require_one_device(std::string_view kernel,
                        std::initializer_list<Argument> args);
// The same, and that all have one shape.
void require_one_shape(std::string_view kernel,
                       std::initializer_list<Argument> args);
// The same, and that all have one type, fp32 or bf16.
void require_alike(std::string_view kernel,
                   std::initializer_list<Argument> args);

inline bool is_float_type(DType type) {
  return is_compute_type(type) || type == DType::kF16;
}

}  // namespace quire::kernels
