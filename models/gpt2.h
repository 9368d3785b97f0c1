// GPT-2 (Radford et al., 2019): learned positions, pre-norm blocks, a head tied
// to the token table.
#pragma once

#include <cstdint>

#include "quire/nn/model.h"

namespace quire::models {

struct Gpt2Options {
  std::int64_t layers;
  std::int64_t width;
  std::int64_t heads;
  std::int64_t context;
  std::int64_t vocab;
  // Of embeddings, attention probabilities and residual branches.
  float dropout = 0.0f;
  float norm_eps = 1e-5f;
};

// Input "tokens" [B, T] i32 with T <= context; output logits [B, T, vocab].
// Layers: "embed" (wte, wpe), "h.0" ... , then "head" (ln_f, lm_head with its
// weight tied to embed.wte.weight). Weights normal(0.02), the projections into
// the residual stream normal(0.02 / sqrt(2 layers)), biases zero. Throws
// UsageError unless all sizes are positive, heads divides width, and dropout is
// in [0, 1).
nn::Model gpt2(const Gpt2Options& options);

}  // namespace quire::models
