// Layer normalisation over the last dimension (Ba, Kiros, Hinton, 2016).
// Statistics in fp32.
#pragma once

#include "quire/core/stream.h"
#include "quire/core/tensor.h"

namespace quire::kernels {

// y = (x - mean) * rstd * gamma + beta, rstd = 1 / sqrt(variance + eps), the
// variance biased.
struct LayerNormForward {
  Tensor x;      // [M, C] fp32 or bf16
  Tensor gamma;  // [C] of x's type
  Tensor beta;   // [C] of x's type
  Tensor y;      // [M, C] of x's type
  Tensor mean;   // [M] fp32, written
  Tensor rstd;   // [M] fp32, written
  float eps = 1e-5f;
};
void layer_norm_forward(const LayerNormForward& args, Stream& stream);

// dx is overwritten; dgamma and dbeta (fp32) are overwritten or accumulated
// into, rows summed over fixed blocks of rows in a fixed order. Undefined
// dgamma or dbeta are not computed (frozen parameters).
struct LayerNormBackward {
  Tensor dy;  // [M, C]
  Tensor x;   // [M, C]
  Tensor gamma;
  Tensor mean;
  Tensor rstd;
  Tensor dx;      // [M, C] of x's type
  Tensor dgamma;  // [C] fp32
  Tensor dbeta;   // [C] fp32
  bool accumulate_gamma = false;
  bool accumulate_beta = false;
};
void layer_norm_backward(const LayerNormBackward& args, Stream& stream);

// Every implementation begins with it: UsageError naming the kernel and what it
// got unless the arguments are as above.
void check(const LayerNormForward& args);
void check(const LayerNormBackward& args);

namespace reference {
void layer_norm_forward(const LayerNormForward& args, Stream& stream);
void layer_norm_backward(const LayerNormBackward& args, Stream& stream);
}  // namespace reference

}  // namespace quire::kernels
