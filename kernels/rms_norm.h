// Root-mean-square normalisation over the last dimension (Zhang, Sennrich,
// 2019). Statistics in fp32.
#pragma once

#include "quire/core/stream.h"
#include "quire/core/tensor.h"

namespace quire::kernels {

// y = x * rstd * gamma, rstd = 1 / sqrt(mean(x^2) + eps); x * rstd is rounded
// to x's type before gamma multiplies it.
struct RmsNormForward {
  Tensor x;      // [M, C] fp32 or bf16
  Tensor gamma;  // [C] of x's type
  Tensor y;      // [M, C] of x's type
  Tensor rstd;   // [M] fp32, written
  float eps = 1e-6f;
};
void rms_norm_forward(const RmsNormForward& args, Stream& stream);

// dx is overwritten; dgamma (fp32) is overwritten or accumulated into, rows
// summed over fixed blocks of rows in a fixed order. An undefined dgamma is not
// computed (frozen parameters).
struct RmsNormBackward {
  Tensor dy;  // [M, C]
  Tensor x;   // [M, C]
  Tensor gamma;
  Tensor rstd;
  Tensor dx;      // [M, C] of x's type
  Tensor dgamma;  // [C] fp32
  bool accumulate_gamma = false;
};
void rms_norm_backward(const RmsNormBackward& args, Stream& stream);

// Every implementation begins with it: UsageError naming the kernel and what it
// got unless the arguments are as above.
void check(const RmsNormForward& args);
void check(const RmsNormBackward& args);

namespace reference {
void rms_norm_forward(const RmsNormForward& args, Stream& stream);
void rms_norm_backward(const RmsNormBackward& args, Stream& stream);
}  // namespace reference

}  // namespace quire::kernels
