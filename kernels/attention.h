// Scaled dot-product attention, causal or full, with grouped key/value heads.
// Blocked over queries: what is kept for the backward is one number per row
// (the logarithm of the softmax's sum), never a T x T matrix (Dao et al.,
// 2022).
//
// A panel is one (sample, key/value head) pair; threads take panels.
#pragma once

#include <cstdint>

#include "quire/core/philox.h"
#include "quire/core/stream.h"
#include "quire/core/tensor.h"

namespace quire::kernels {

// Heads inside a tensor of B*T token rows: element (b, t, h, d) lies at (b*T +
// t) * stride + offset + h*D + d. So the packed result of one projection serves
// as q, k and v without a copy.
struct Heads {
  Tensor data;
  std::int64_t offset = 0;
  std::int64_t stride = 0;
};

struct AttentionShape {
  std::int64_t batch;     // B
  std::int64_t sequence;  // T
  std::int64_t heads;     // query heads
  std::int64_t kv_heads;  // divides heads; query head h uses kv head h / g
  std::int64_t width;     // D, of one head
  bool causal = true;     // query t sees keys 0 ... t
  // Query t sees keys max(0, t - window + 1) ... t alone; 0: no such limit.
  // Needs causal.
  std::int64_t window = 0;
  float scale = 0.0f;  // usually 1 / sqrt(D)
  // Dropout of probabilities: the one of (b, h, i, j) is kept iff uniform(word)
  // >= dropout, word j % 4 of block(((b*heads + h)*T + i) * ceil(T/4) + j/4),
  // and then divided by 1 - dropout.
  float dropout = 0.0f;
  RandomKey key = {};
};

//   y(b, t, h) = sum over j of softmax_j(scale q(b, t, h) . k(b, j, h/g))
//                              v(b, j, h/g)
// with g = heads / kv_heads. All data fp32, or all bf16.
struct AttentionForward {
  AttentionShape shape;
  Heads q, k, v;
  Heads y;
  Tensor lse;  // [B, heads, T] fp32: log of the sum of exp(scale q.k), written
};
void attention_forward(const AttentionForward& args, Stream& stream);

// dq, dk, dv are overwritten.
struct AttentionBackward {
  AttentionShape shape;
  Heads q, k, v;
  Heads y, dy;
  Tensor lse;
  Heads dq, dk, dv;
};
void attention_backward(const AttentionBackward& args, Stream& stream);

// Every implementation begins with it: UsageError naming the kernel and what it
// got unless the arguments are as above.
void check(const AttentionForward& args);
void check(const AttentionBackward& args);

namespace reference {
void attention_forward(const AttentionForward& args, Stream& stream);
void attention_backward(const AttentionBackward& args, Stream& stream);
}  // namespace reference

}  // namespace quire::kernels
