#include "quire/models/llama.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <vector>

#include "quire/nn/layers.h"

namespace quire::models {
namespace {

using nn::Child;
using nn::Values;
using nn::Var;

const nn::Initializer kInit = nn::normal(0.02f);

// What the layers of one model share.
struct Shared : LlamaOptions {
  // Computed once; alive as long as a layer.
  std::shared_ptr<const std::vector<float>> frequencies;
};

nn::RmsNorm::Options norm_of(const LlamaOptions& o) {
  return {.width = o.width, .eps = o.norm_eps};
}

class Embed final : public nn::Layer {
 public:
  using Options = LlamaOptions;
  explicit Embed(const Options& options)
      : context_(options.context),
        embed_tokens_(
            *this, "embed_tokens",
            {.count = options.vocab, .width = options.width, .init = kInit}) {}

  Values forward(const Values& in) const override {
    const Var& tokens = in["tokens"];
    if (tokens.shape().rank() != 2 || tokens.dim(1) > context_)
      throw UsageError(fmt::format(
          "layer \"{}\": got tokens {}; expected [B, T] with T at most the "
          "context of {}",
          tokens.tape().layer(), tokens.shape().to_string(), context_));
    return embed_tokens_(tokens);
  }

 private:
  std::int64_t context_;
  Child<nn::Embedding> embed_tokens_;
};

class Attention final : public nn::Module {
 public:
  using Options = Shared;
  explicit Attention(const Options& options)
      : options_(options),
        q_proj_(*this, "q_proj", into_heads(options.heads)),
        k_proj_(*this, "k_proj", into_heads(options.kv_heads)),
        v_proj_(*this, "v_proj", into_heads(options.kv_heads)),
        o_proj_(*this, "o_proj",
                {.in = options.heads * options.head_width,
                 .out = options.width,
                 .bias = options.output_bias,
                 .init = kInit}) {
    if (!options.qk_norm) return;
    const nn::RmsNorm::Options norm{.width = options.head_width,
                                    .eps = options.norm_eps};
    q_norm_.emplace(*this, "q_norm", norm);
    k_norm_.emplace(*this, "k_norm", norm);
  }

  Var operator()(const Var& x) const {
    const Var q = turned(q_proj_(x), q_norm_);
    const Var k = turned(k_proj_(x), k_norm_);
    const Var v = v_proj_(x);
    return o_proj_(autograd::attention(q, k, v,
                                       {.heads = options_.heads,
                                        .kv_heads = options_.kv_heads,
                                        .window = options_.window}));
  }

 private:
  using Norm = std::optional<Child<nn::RmsNorm>>;

  nn::Linear::Options into_heads(std::int64_t heads) const {
    return {.in = options_.width,
            .out = heads * options_.head_width,
            .bias = options_.qkv_bias,
            .init = kInit};
  }
  Var turned(const Var& x, const Norm& norm) const {
    if (!norm) return autograd::rotary(x, *options_.frequencies);
    const std::int64_t width = options_.head_width;
    const Var heads =
        autograd::reshape(x, {x.dim(0), x.dim(1), x.dim(2) / width, width});
    return autograd::rotary(autograd::reshape((*norm)(heads), x.shape()),
                            *options_.frequencies);
  }

  Options options_;
  Child<nn::Linear> q_proj_, k_proj_, v_proj_, o_proj_;
  Norm q_norm_, k_norm_;
};

class FeedForward final : public nn::Module {
 public:
  using Options = LlamaOptions;
  explicit FeedForward(const Options& options)
      : gate_proj_(*this, "gate_proj", up(options)),
        up_proj_(*this, "up_proj", up(options)),
        down_proj_(*this, "down_proj",
                   {.in = options.hidden,
                    .out = options.width,
                    .bias = options.mlp_bias,
                    .init = kInit}) {}

  Var operator()(const Var& x) const {
    const Var gate = gate_proj_(x);
    return down_proj_(autograd::swiglu(gate, up_proj_(x)));
  }

 private:
  static nn::Linear::Options up(const Options& options) {
    return {.in = options.width,
            .out = options.hidden,
            .bias = options.mlp_bias,
            .init = kInit};
  }

  Child<nn::Linear> gate_proj_, up_proj_, down_proj_;
};

class Block final : public nn::Layer {
 public:
  using Options = Shared;
  explicit Block(const Options& options)
      : input_layernorm_(*this, "input_layernorm", norm_of(options)),
        self_attn_(*this, "self_attn", options),
        post_attention_layernorm_(*this, "post_attention_layernorm",
                                  norm_of(options)),
        mlp_(*this, "mlp", options) {}

  Values forward(const Values& in) const override {
    const Var& x = in.only();
    const Var y = x + self_attn_(input_layernorm_(x));
    return y + mlp_(post_attention_layernorm_(y));
  }

 private:
  Child<nn::RmsNorm> input_layernorm_;
  Child<Attention> self_attn_;
  Child<nn::RmsNorm> post_attention_layernorm_;
  Child<FeedForward> mlp_;
};

class Head final : public nn::Layer {
 public:
  using Options = LlamaOptions;
  explicit Head(const Options& options)
      : norm_(*this, "norm", norm_of(options)),
        lm_head_(*this, "lm_head",
                 {.in = options.width,
                  .out = options.vocab,
                  .bias = false,
                  .init = kInit}) {}

  Values forward(const Values& in) const override {
    return lm_head_(norm_(in.only()));
  }

 private:
  Child<nn::RmsNorm> norm_;
  Child<nn::Linear> lm_head_;
};

void check(const LlamaOptions& o) {
  const bool positive = o.layers > 0 && o.width > 0 && o.heads > 0 &&
                        o.kv_heads > 0 && o.head_width > 0 && o.hidden > 0 &&
                        o.context > 0 && o.vocab > 0;
  if (positive && o.heads % o.kv_heads == 0 && o.head_width % 2 == 0 &&
      o.window >= 0)
    return;
  throw UsageError(fmt::format(
      "llama: got layers {}, width {}, heads {}, kv_heads {}, head_width {}, "
      "hidden {}, context {}, vocab {}, window {}; expected all positive (the "
      "window at least 0), kv_heads that divides heads and an even head_width",
      o.layers, o.width, o.heads, o.kv_heads, o.head_width, o.hidden, o.context,
      o.vocab, o.window));
}

Shared shared(const LlamaOptions& options) {
  return {options,
          std::make_shared<const std::vector<float>>(
              nn::rotary_frequencies(options.rotary, options.head_width))};
}

}  // namespace

nn::Model llama(const LlamaOptions& options) {
  check(options);
  nn::Model model;
  model.add<Embed>("embed", options);
  const Shared of_blocks = shared(options);
  for (std::int64_t i = 0; i < options.layers; ++i)
    model.add<Block>(fmt::format("layers.{}", i), of_blocks);
  model.add<Head>("head", options);
  if (options.tied_head)
    model.tie("head.lm_head.weight", "embed.embed_tokens.weight");
  return model;
}

}  // namespace quire::models
