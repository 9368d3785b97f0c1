// Differentiable operations: each a forward and a backward over kernels/.
// Inputs of one call share a tape; types and shapes that do not fit are
// UsageErrors that name the layer, the operation and what it got. Results have
// the type of their first input.
#pragma once

#include <cstdint>
#include <span>

#include "quire/autograd/tape.h"
#include "quire/autograd/variable.h"

namespace quire::autograd {

// y[..., N] = x[..., K] w[N, K]^T + b[N]; b may be undefined.
Var linear(const Var& x, const Var& w, const Var& b = {});
// y[..., C] = table[ids[...], :]; ids i32.
Var embedding(const Var& ids, const Var& table);
// Over the last dimension; gamma, beta of [C].
Var layer_norm(const Var& x, const Var& gamma, const Var& beta,
               float eps = 1e-5f);
// Over the last dimension; gamma of [C].
Var rms_norm(const Var& x, const Var& gamma, float eps = 1e-6f);

Var gelu(const Var& x);  // the tanh form, GPT-2's
Var gelu_erf(const Var& x);
Var relu(const Var& x);
Var swiglu(const Var& gate, const Var& up);  // silu(gate) up; equal shapes

Var add(const Var& a, const Var& b);       // equal shapes
Var multiply(const Var& a, const Var& b);  // equal shapes
Var scale(const Var& x, float factor);
// x[B, R, C] + b[R, C], or x[..., C] + b[C]: b repeated over the leading
// dimensions.
Var add_rows(const Var& x, const Var& b);
inline Var operator+(const Var& a, const Var& b) { return add(a, b); }
inline Var operator*(const Var& a, const Var& b) { return multiply(a, b); }

// The same elements under another shape.
Var reshape(const Var& x, const Shape& shape);
// x[begin : begin + count] of the first dimension. The gradient of the other
// rows is zero.
Var rows(const Var& x, std::int64_t begin, std::int64_t count);
// The sum of all elements, as [1] fp32; elements added in fp64 in order.
Var sum(const Var& x);

// Zero with probability p in training, else x / (1 - p); the identity in
// evaluation or for p = 0.
Var dropout(const Var& x, float p);

// x[B, T, H D], D / 2 frequencies: every head is turned by its token's place,
// in the rotate-half form (kernels/rotary.h). The frequencies outlive the tape.
Var rotary(const Var& x, std::span<const float> frequencies);

struct AttentionOptions {
  std::int64_t heads;
  std::int64_t kv_heads = 0;  // 0: as many as heads; divides heads
  bool causal = true;
  float dropout = 0.0f;  // of probabilities, in training
  // Token t sees the `window` tokens up to itself alone; 0: all. Needs causal.
  std::int64_t window = 0;
};
// qkv[B, T, (heads + 2 kv_heads) D] holds q, k, v one behind the other; y[B, T,
// heads D]; scale 1 / sqrt(D).
Var attention(const Var& qkv, const AttentionOptions& options);
// The same of q[B, T, heads D], and k and v[B, T, kv_heads D].
Var attention(const Var& q, const Var& k, const Var& v,
              const AttentionOptions& options);

struct CrossEntropyOptions {
  std::int32_t ignore = -100;
  float smoothing = 0.0f;
};
// The sum over valid rows, as [1] fp32. logits [..., V], labels i32 of the
// leading dimensions.
Var cross_entropy_sum(const Var& logits, const Tensor& labels,
                      const CrossEntropyOptions& options = {});

}  // namespace quire::autograd
