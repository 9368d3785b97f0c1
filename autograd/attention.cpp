#include "quire/kernels/attention.h"

#include <fmt/format.h>

#include <cmath>

#include "quire/autograd/arguments.h"
#include "quire/autograd/operations.h"

namespace quire::autograd {
namespace {

using kernels::AttentionShape;
using kernels::Heads;

constexpr std::string_view kName = "attention";

Heads alone(const Tensor& data, std::int64_t row) {
  return {.data = data, .offset = 0, .stride = row};
}

// Where q, k and v, or their gradients, lie.
struct Places {
  Heads q, k, v;
};

// One behind the other in every row of a tensor.
Places packed(const Tensor& data, const AttentionShape& shape) {
  const std::int64_t q = shape.heads * shape.width;
  const std::int64_t kv = shape.kv_heads * shape.width;
  const std::int64_t stride = q + 2 * kv;
  return {.q = {.data = data, .offset = 0, .stride = stride},
          .k = {.data = data, .offset = q, .stride = stride},
          .v = {.data = data, .offset = q + kv, .stride = stride}};
}

struct Apart {
  Tensor q, k, v;
};
Places apart(const Apart& data, const AttentionShape& shape) {
  const std::int64_t kv = shape.kv_heads * shape.width;
  return {.q = alone(data.q, shape.heads * shape.width),
          .k = alone(data.k, kv),
          .v = alone(data.v, kv)};
}

void check_options(Arguments args, const AttentionOptions& options) {
  compute_tape_of(kName, args);
  require_fraction(kName, args, "dropout", options.dropout);
  if (options.heads < 1 || options.kv_heads < 1 ||
      options.heads % options.kv_heads != 0)
    refuse(kName, args,
           fmt::format("key/value heads that divide the heads, not {} and {}",
                       options.kv_heads, options.heads));
  if (options.window < 0 || (options.window > 0 && !options.causal))
    refuse(kName, args,
           fmt::format("a window of at least 0, and 0 unless causal, not {}",
                       options.window));
}

// Of `x`, whose rows hold `parts` widths.
AttentionShape shape_of(const Var& x, std::int64_t parts,
                        const AttentionOptions& options) {
  const std::int64_t width = x.dim(2) / parts;
  AttentionShape shape{.batch = x.dim(0),
                       .sequence = x.dim(1),
                       .heads = options.heads,
                       .kv_heads = options.kv_heads,
                       .width = width,
                       .causal = options.causal,
                       .window = options.window,
                       .scale = 1.0f / std::sqrt(static_cast<float>(width))};
  if (options.dropout > 0.0f && x.tape().training()) {
    shape.dropout = options.dropout;
    shape.key = x.tape().next_key();
  }
  return shape;
}

AttentionShape checked(const Var& qkv, const AttentionOptions& options) {
  check_options({{"qkv", qkv}}, options);
  const std::int64_t parts = options.heads + 2 * options.kv_heads;
  if (qkv.shape().rank() != 3 || qkv.dim(2) % parts != 0)
    refuse(kName, {{"qkv", qkv}},
           fmt::format("[B, T, {} D] for {} heads and {} key/value heads",
                       parts, options.heads, options.kv_heads));
  return shape_of(qkv, parts, options);
}

AttentionShape checked(Arguments args, const AttentionOptions& options) {
  check_options(args, options);
  const Var &q = args.begin()[0].var, &k = args.begin()[1].var;
  const bool fits = q.shape().rank() == 3 && q.dim(2) % options.heads == 0 &&
                    k.shape() == with_last(q.shape(), q.dim(2) / options.heads *
                                                          options.kv_heads) &&
                    args.begin()[2].var.shape() == k.shape();
  if (!fits)
    refuse(kName, args,
           fmt::format("q [B, T, {} D], k and v [B, T, {} D]", options.heads,
                       options.kv_heads));
  return shape_of(q, options.heads, options);
}

AttentionOptions with_kv_heads(AttentionOptions options) {
  if (options.kv_heads == 0) options.kv_heads = options.heads;
  return options;
}

struct Result {
  AttentionShape shape;
  Tensor y, lse;
};

Result forward(const AttentionShape& shape, const Places& in, Tape& tape) {
  const std::int64_t row = shape.heads * shape.width;
  Result result{
      .shape = shape,
      .y = tape.allocate(in.q.data.dtype(), {shape.batch, shape.sequence, row}),
      .lse = tape.allocate(DType::kF32,
                           {shape.batch, shape.heads, shape.sequence})};
  kernels::attention_forward({.shape = shape,
                              .q = in.q,
                              .k = in.k,
                              .v = in.v,
                              .y = alone(result.y, row),
                              .lse = result.lse},
                             tape.stream());
  return result;
}

struct Gradients {
  const Tensor& dy;
  const Places& out;
};
void backward(const Result& result, const Places& in,
              const Gradients& gradients, Tape& tape) {
  const std::int64_t row = result.shape.heads * result.shape.width;
  kernels::attention_backward({.shape = result.shape,
                               .q = in.q,
                               .k = in.k,
                               .v = in.v,
                               .y = alone(result.y, row),
                               .dy = alone(gradients.dy, row),
                               .lse = result.lse,
                               .dq = gradients.out.q,
                               .dk = gradients.out.k,
                               .dv = gradients.out.v},
                              tape.stream());
}

void packed_backward(const Result& result, const Var& qkv, const Tensor& dy) {
  Tape& tape = qkv.tape();
  Tensor dqkv = tape.allocate(qkv.dtype(), qkv.shape());
  backward(result, packed(qkv.value(), result.shape),
           {dy, packed(dqkv, result.shape)}, tape);
  tape.add_gradient(qkv, std::move(dqkv));
}

struct Inputs {
  Var q, k, v;
};
void apart_backward(const Result& result, const Inputs& in, const Tensor& dy) {
  Tape& tape = in.q.tape();
  const auto like = [&](const Var& x) {
    return tape.allocate(x.dtype(), x.shape());
  };
  Apart d{.q = like(in.q), .k = like(in.k), .v = like(in.v)};
  backward(result,
           apart({in.q.value(), in.k.value(), in.v.value()}, result.shape),
           {dy, apart(d, result.shape)}, tape);
  if (in.q.needs_grad()) tape.add_gradient(in.q, std::move(d.q));
  if (in.k.needs_grad()) tape.add_gradient(in.k, std::move(d.k));
  if (in.v.needs_grad()) tape.add_gradient(in.v, std::move(d.v));
}

}  // namespace

Var attention(const Var& qkv, const AttentionOptions& options) {
  const AttentionShape shape = checked(qkv, with_kv_heads(options));
  const Result result = forward(shape, packed(qkv.value(), shape), qkv.tape());
  return qkv.tape().record(
      kName, result.y, std::span(&qkv, 1),
      [result, qkv](const Tensor& dy) { packed_backward(result, qkv, dy); });
}

Var attention(const Var& q, const Var& k, const Var& v,
              const AttentionOptions& options) {
  const AttentionShape shape =
      checked({{"q", q}, {"k", k}, {"v", v}}, with_kv_heads(options));
  const Result result =
      forward(shape, apart({q.value(), k.value(), v.value()}, shape), q.tape());
  const Var inputs[] = {q, k, v};
  return q.tape().record(kName, result.y, inputs,
                         [result, in = Inputs{q, k, v}](const Tensor& dy) {
                           apart_backward(result, in, dy);
                         });
}

}  // namespace quire::autograd
