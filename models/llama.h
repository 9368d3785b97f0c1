// The Llama family (Touvron et al., 2023): RMS norms before attention and
// feed-forward, rotary positions, grouped key/value heads, SwiGLU. Its options
// cover Llama 1 to 3, Mistral (window), Qwen2 (qkv_bias) and Qwen3 (qk_norm,
// head_width).
#pragma once

#include <cstdint>

#include "quire/nn/model.h"
#include "quire/nn/rotary.h"

namespace quire::models {

struct LlamaOptions {
  std::int64_t layers;
  std::int64_t width;
  std::int64_t heads;
  std::int64_t kv_heads;    // divides heads
  std::int64_t head_width;  // even; heads * head_width need not be width
  std::int64_t hidden;      // of the feed-forward
  std::int64_t context;
  std::int64_t vocab;
  float norm_eps = 1e-5f;
  nn::RotaryOptions rotary = {};
  // Token t sees the `window` tokens t - window + 1 ... t; 0: all before it.
  std::int64_t window = 0;
  bool qkv_bias = false;     // of q_proj, k_proj, v_proj
  bool output_bias = false;  // of o_proj
  bool mlp_bias = false;     // of gate_proj, up_proj, down_proj
  // RMS norm of every head of q and k (over head_width) before the rotation.
  bool qk_norm = false;
  bool tied_head = false;
};

// Input "tokens" [B, T] i32 with T <= context; output logits [B, T, vocab].
// Layers and parameters: "embed" (embed_tokens.weight), "layers.0" ...
// (input_layernorm.weight, self_attn.{q,k,v,o}_proj, self_attn.{q,k}_norm,
// post_attention_layernorm.weight, mlp.{gate,up,down}_proj), then "head"
// (norm.weight, lm_head.weight, which is tied to embed.embed_tokens.weight if
// so asked). Weights normal(0.02), biases zero, norms one. Throws UsageError
// unless all sizes are positive, kv_heads divides heads, head_width is even,
// and the rotary options hold.
nn::Model llama(const LlamaOptions& options);

}  // namespace quire::models
