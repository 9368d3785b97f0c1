#include "quire/kernels/attention.h"

#include <fmt/format.h>

#include "quire/kernels/detail/arguments.h"

namespace quire::kernels {
namespace {

struct NamedHeads {
  std::string_view name;
  const Heads& heads;
  std::int64_t count;  // of heads
};

std::string describe(const AttentionShape& s) {
  return fmt::format(
      "batch {}, sequence {}, heads {}, kv_heads {}, width {}, causal {}, "
      "window {}, dropout {}",
      s.batch, s.sequence, s.heads, s.kv_heads, s.width, s.causal, s.window,
      s.dropout);
}

void check_shape(std::string_view kernel, const AttentionShape& s) {
  const bool sizes = s.batch >= 0 && s.sequence >= 0 && s.heads > 0 &&
                     s.kv_heads > 0 && s.width > 0;
  if (!sizes || s.heads % s.kv_heads != 0 ||
      !(s.dropout >= 0.0f && s.dropout < 1.0f) || s.window < 0 ||
      (s.window > 0 && !s.causal)) {
    throw UsageError(fmt::format(
        "{}: got {}; expected positive sizes, kv_heads dividing heads, no "
        "window unless causal, and dropout in [0, 1)",
        kernel, describe(s)));
  }
}

void check_heads(std::string_view kernel, const AttentionShape& shape,
                 const NamedHeads& named) {
  const Heads& h = named.heads;
  const std::int64_t tokens = shape.batch * shape.sequence;
  const std::int64_t row = named.count * shape.width;
  const bool fits = h.offset >= 0 && h.stride >= row &&
                    (tokens == 0 || (tokens - 1) * h.stride + h.offset + row <=
                                        h.data.numel());
  if (fits) return;
  throw UsageError(fmt::format(
      "{}: got {} {} with offset {} and stride {}; expected {} token rows of "
      "{} heads of width {} inside it, the stride at least {}",
      kernel, named.name, h.data.shape().to_string(), h.offset, h.stride,
      tokens, named.count, shape.width, row));
}

void check_lse(std::string_view kernel, const AttentionShape& shape,
               const Tensor& lse) {
  if (lse.dtype() != DType::kF32 ||
      lse.shape() != Shape{shape.batch, shape.heads, shape.sequence}) {
    refuse(kernel,
           "lse fp32 " +
               Shape{shape.batch, shape.heads, shape.sequence}.to_string(),
           {{"lse", lse}});
  }
}

void check_all(std::string_view kernel, const AttentionShape& shape,
               std::initializer_list<NamedHeads> all, const Tensor& lse) {
  check_shape(kernel, shape);
  const Heads& first = all.begin()->heads;
  for (const NamedHeads& named : all) {
    require_one_device(kernel, {{"lse", lse}, {named.name, named.heads.data}});
    if (!is_compute_type(first.data.dtype()) ||
        named.heads.data.dtype() != first.data.dtype()) {
      refuse(kernel, "heads of one type, fp32 or bf16",
             {{all.begin()->name, first.data}, {named.name, named.heads.data}});
    }
    check_heads(kernel, shape, named);
  }
  check_lse(kernel, shape, lse);
}

}  // namespace

void check(const AttentionForward& args) {
  const AttentionShape& s = args.shape;
  check_all("attention_forward", s,
            {{"q", args.q, s.heads},
             {"k", args.k, s.kv_heads},
             {"v", args.v, s.kv_heads},
             {"y", args.y, s.heads}},
            args.lse);
}

void check(const AttentionBackward& args) {
  const AttentionShape& s = args.shape;
  check_all("attention_backward", s,
            {{"q", args.q, s.heads},
             {"k", args.k, s.kv_heads},
             {"v", args.v, s.kv_heads},
             {"y", args.y, s.heads},
             {"dy", args.dy, s.heads},
             {"dq", args.dq, s.heads},
             {"dk", args.dk, s.kv_heads},
             {"dv", args.dv, s.kv_heads}},
            args.lse);
}

}  // namespace quire::kernels
