// The gated unit SwiGLU (Shazeer, 2020): silu(x) = x / (1 + exp(-x)).
#pragma once

#include "quire/core/stream.h"
#include "quire/core/tensor.h"

namespace quire::kernels {

// y = silu(gate) * up.
struct SwigluForward {
  Tensor gate;  // fp32 or bf16, any shape
  Tensor up;    // as gate
  Tensor y;     // as gate
};
void swiglu_forward(const SwigluForward& args, Stream& stream);

// dgate and dup are overwritten; either may be dy itself.
struct SwigluBackward {
  Tensor dy, gate, up;
  Tensor dgate, dup;
};
void swiglu_backward(const SwigluBackward& args, Stream& stream);

// Every implementation begins with it: UsageError naming the kernel and what it
// got unless the arguments are as above.
void check(const SwigluForward& args);
void check(const SwigluBackward& args);

namespace reference {
void swiglu_forward(const SwigluForward& args, Stream& stream);
void swiglu_backward(const SwigluBackward& args, Stream& stream);
}  // namespace reference

}  // namespace quire::kernels
