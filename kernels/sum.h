// The sum of all elements, for losses that are one.
#pragma once

#include "quire/core/stream.h"
#include "quire/core/tensor.h"

namespace quire::kernels {

struct Sum {
  Tensor x;  // fp32 or bf16
};
// Elements added in fp64 in order; 0 on the meta device.
double sum(const Sum& args, Stream& stream);

namespace reference {
double sum(const Sum& args, Stream& stream);
}  // namespace reference

}  // namespace quire::kernels
