// Softmax cross-entropy as a sum over rows, with an ignored label and label
// smoothing (Szegedy et al., 2016).
#pragma once

#include <cstdint>

#include "quire/core/stream.h"
#include "quire/core/tensor.h"

namespace quire::kernels {

// loss[i] = logsumexp(x[i]) - (1 - s) x[i, label] - s mean(x[i]) for valid
// rows, 0 where label == ignore. A row's two sums are taken in fp32 over chunks
// of 256; chunks, and then the losses of rows, are added in fp64 in order.
struct CrossEntropyForward {
  Tensor logits;  // [M, V] fp32 or bf16
  Tensor labels;  // [M] i32: in [0, V) or `ignore`
  Tensor lse;     // [M] fp32: logsumexp of every row, written
  std::int32_t ignore = -100;
  float smoothing = 0.0f;
};
// Returns the sum of the losses of the valid rows; 0 on the meta device.
// Throws UsageError naming the first row whose label is neither.
double cross_entropy_forward(const CrossEntropyForward& args, Stream& stream);

// dlogits = scale * d(sum)/d(logits); rows of ignored labels are zero.
struct CrossEntropyBackward {
  Tensor logits;
  Tensor labels;
  Tensor lse;
  Tensor dlogits;  // [M, V] of logits' type; may be logits
  float scale = 1.0f;
  std::int32_t ignore = -100;
  float smoothing = 0.0f;
};
void cross_entropy_backward(const CrossEntropyBackward& args, Stream& stream);

// Every implementation begins with it: UsageError naming the kernel and what it
// got unless the arguments are as above.
void check(const CrossEntropyForward& args);
void check(const CrossEntropyBackward& args);
// Throws UsageError naming the first row whose label is neither in [0, V) nor
// `ignore`. Not on the meta device.
void check_labels(const Tensor& logits, const Tensor& labels,
                  std::int32_t ignore);

namespace reference {
double cross_entropy_forward(const CrossEntropyForward& args, Stream& stream);
void cross_entropy_backward(const CrossEntropyBackward& args, Stream& stream);
}  // namespace reference

}  // namespace quire::kernels
