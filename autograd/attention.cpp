#include "quire/kernels/attention.h"

#include <fmt/format.h>

#include <cmath>

#include "quire/autograd/arguments.h"
#include "quire/autograd/operations.h"

namespace quire::autograd {
namespace {

constexpr std::string_view kName = "attention";

// q, k and v one behind the other in every row of a tensor.
struct Packed {
  kernels::Heads q, k, v;
};

Packed packed(const Tensor& data, const kernels::AttentionShape& shape) {
  const std::int64_t q = shape.heads * shape.width;
  const std::int64_t kv = shape.kv_heads * shape.width;
  const std::int64_t stride = q + 2 * kv;
  return {.q = {.data = data, .offset = 0, .stride = stride},
          .k = {.data = data, .offset = q, .stride = stride},
          .v = {.data = data, .offset = q + kv, .stride = stride}};
}

kernels::Heads alone(const Tensor& data, const kernels::AttentionShape& shape) {
  return {.data = data, .offset = 0, .stride = shape.heads * shape.width};
}

void check(const Var& qkv, const AttentionOptions& options,
           std::int64_t kv_heads) {
  compute_tape_of(kName, {{"qkv", qkv}});
  require_fraction(kName, {{"qkv", qkv}}, "dropout", options.dropout);
  if (options.heads < 1 || kv_heads < 1 || options.heads % kv_heads != 0)
    refuse(kName, {{"qkv", qkv}},
           fmt::format("key/value heads that divide the heads, not {} and {}",
                       kv_heads, options.heads));
  const std::int64_t parts = options.heads + 2 * kv_heads;
  if (qkv.shape().rank() != 3 || qkv.dim(2) % parts != 0)
    refuse(kName, {{"qkv", qkv}},
           fmt::format("[B, T, {} D] for {} heads and {} key/value heads",
                       parts, options.heads, kv_heads));
}

kernels::AttentionShape shape_of(const Var& qkv,
                                 const AttentionOptions& options) {
  const auto kv_heads =
      options.kv_heads == 0 ? options.heads : options.kv_heads;
  check(qkv, options, kv_heads);
  const std::int64_t width = qkv.dim(2) / (options.heads + 2 * kv_heads);
  kernels::AttentionShape shape{
      .batch = qkv.dim(0),
      .sequence = qkv.dim(1),
      .heads = options.heads,
      .kv_heads = kv_heads,
      .width = width,
      .causal = options.causal,
      .scale = 1.0f / std::sqrt(static_cast<float>(width))};
  if (options.dropout > 0.0f && qkv.tape().training()) {
    shape.dropout = options.dropout;
    shape.key = qkv.tape().next_key();
  }
  return shape;
}

struct Saved {
  kernels::AttentionShape shape;
  Var qkv;
  Tensor y, lse;
};

void backward(const Saved& saved, const Tensor& dy) {
  Tape& tape = saved.qkv.tape();
  Tensor dqkv = tape.allocate(saved.qkv.dtype(), saved.qkv.shape());
  {
    const Packed in = packed(saved.qkv.value(), saved.shape);
    const Packed out = packed(dqkv, saved.shape);
    kernels::attention_backward({.shape = saved.shape,
                                 .q = in.q,
                                 .k = in.k,
                                 .v = in.v,
                                 .y = alone(saved.y, saved.shape),
                                 .dy = alone(dy, saved.shape),
                                 .lse = saved.lse,
                                 .dq = out.q,
                                 .dk = out.k,
                                 .dv = out.v},
                                tape.stream());
  }
  tape.add_gradient(saved.qkv, std::move(dqkv));
}

}  // namespace

Var attention(const Var& qkv, const AttentionOptions& options) {
  const kernels::AttentionShape shape = shape_of(qkv, options);
  Tape& tape = qkv.tape();
  Tensor y = tape.allocate(qkv.dtype(),
                           with_last(qkv.shape(), shape.heads * shape.width));
  Tensor lse =
      tape.allocate(DType::kF32, {shape.batch, shape.heads, shape.sequence});
  const Packed in = packed(qkv.value(), shape);
  kernels::attention_forward({.shape = shape,
                              .q = in.q,
                              .k = in.k,
                              .v = in.v,
                              .y = alone(y, shape),
                              .lse = lse},
                             tape.stream());
  return tape.record(kName, y, std::span(&qkv, 1),
                     [saved = Saved{shape, qkv, y, lse}](const Tensor& dy) {
                       backward(saved, dy);
                     });
}

}  // namespace quire::autograd
