// Element-wise activations and their derivatives.
#pragma once

#include <cstdint>

#include "quire/core/stream.h"
#include "quire/core/tensor.h"

namespace quire::kernels {

enum class Activation : std::uint8_t {
  // GELU (Hendrycks, Gimpel, 2016), approximated and exact.
  kGeluTanh,  // x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
  kGeluErf,   // x/2 (1 + erf(x / sqrt(2)))
  kRelu,      // max(x, 0), derivative 0 at 0
};

// y = f(x). x, y: fp32 or bf16 of one type and shape; y may be x.
struct ActivationForward {
  Activation kind;
  Tensor x;
  Tensor y;
};
void activation_forward(const ActivationForward& args, Stream& stream);

// dx = dy f'(x). dx may be dy.
struct ActivationBackward {
  Activation kind;
  Tensor dy;
  Tensor x;
  Tensor dx;
};
void activation_backward(const ActivationBackward& args, Stream& stream);

// Every implementation begins with it: UsageError naming the kernel and what it
// got unless the arguments are as above.
void check(const ActivationForward& args);
void check(const ActivationBackward& args);

namespace reference {
void activation_forward(const ActivationForward& args, Stream& stream);
void activation_backward(const ActivationBackward& args, Stream& stream);
}  // namespace reference

}  // namespace quire::kernels
