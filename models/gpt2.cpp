#include "quire/models/gpt2.h"

#include <fmt/format.h>

#include <cmath>

#include "quire/nn/layers.h"

namespace quire::models {
namespace {

using nn::Child;
using nn::Values;
using nn::Var;

constexpr float kDeviation = 0.02f;

// The projections into the residual stream: their sum over the layers keeps its
// size.
float residual_deviation(const Gpt2Options& options) {
  return kDeviation / std::sqrt(2.0f * static_cast<float>(options.layers));
}

class Embed final : public nn::Layer {
 public:
  using Options = Gpt2Options;
  explicit Embed(Options options)
      : dropout_(options.dropout),
        wte_(*this, "wte",
             {.count = options.vocab,
              .width = options.width,
              .init = nn::normal(kDeviation)}),
        wpe_(*this, "wpe",
             {.count = options.context,
              .width = options.width,
              .init = nn::normal(kDeviation)}) {}

  Values forward(const Values& in) const override {
    const Var& tokens = in["tokens"];
    const Var table = wpe_->table(tokens.tape());
    if (tokens.shape().rank() != 2 || tokens.dim(1) > table.dim(0))
      throw UsageError(fmt::format(
          "layer \"{}\": got tokens {}; expected [B, T] with T at most the "
          "context of {}",
          tokens.tape().layer(), tokens.shape().to_string(), table.dim(0)));
    const Var positions = autograd::rows(table, 0, tokens.dim(1));
    return autograd::dropout(autograd::add_rows(wte_(tokens), positions),
                             dropout_);
  }

 private:
  float dropout_;
  Child<nn::Embedding> wte_;
  Child<nn::Embedding> wpe_;
};

class Attention final : public nn::Module {
 public:
  using Options = Gpt2Options;
  explicit Attention(Options options)
      : options_(options),
        c_attn_(*this, "c_attn",
                {.in = options.width,
                 .out = 3 * options.width,
                 .init = nn::normal(kDeviation)}),
        c_proj_(*this, "c_proj",
                {.in = options.width,
                 .out = options.width,
                 .init = nn::normal(residual_deviation(options))}) {}

  Var operator()(const Var& x) const {
    return c_proj_(autograd::attention(
        c_attn_(x), {.heads = options_.heads, .dropout = options_.dropout}));
  }

 private:
  Options options_;
  Child<nn::Linear> c_attn_;
  Child<nn::Linear> c_proj_;
};

class FeedForward final : public nn::Module {
 public:
  using Options = Gpt2Options;
  explicit FeedForward(Options options)
      : c_fc_(*this, "c_fc",
              {.in = options.width,
               .out = 4 * options.width,
               .init = nn::normal(kDeviation)}),
        c_proj_(*this, "c_proj",
                {.in = 4 * options.width,
                 .out = options.width,
                 .init = nn::normal(residual_deviation(options))}) {}

  Var operator()(const Var& x) const {
    return c_proj_(autograd::gelu(c_fc_(x)));
  }

 private:
  Child<nn::Linear> c_fc_;
  Child<nn::Linear> c_proj_;
};

class Block final : public nn::Layer {
 public:
  using Options = Gpt2Options;
  explicit Block(Options options)
      : dropout_(options.dropout),
        ln_1_(*this, "ln_1", {.width = options.width, .eps = options.norm_eps}),
        attn_(*this, "attn", options),
        ln_2_(*this, "ln_2", {.width = options.width, .eps = options.norm_eps}),
        mlp_(*this, "mlp", options) {}

  Values forward(const Values& in) const override {
    const Var& x = in.only();
    const Var y = x + autograd::dropout(attn_(ln_1_(x)), dropout_);
    return y + autograd::dropout(mlp_(ln_2_(y)), dropout_);
  }

 private:
  float dropout_;
  Child<nn::LayerNorm> ln_1_;
  Child<Attention> attn_;
  Child<nn::LayerNorm> ln_2_;
  Child<FeedForward> mlp_;
};

class Head final : public nn::Layer {
 public:
  using Options = Gpt2Options;
  explicit Head(Options options)
      : ln_f_(*this, "ln_f", {.width = options.width, .eps = options.norm_eps}),
        lm_head_(*this, "lm_head",
                 {.in = options.width, .out = options.vocab, .bias = false}) {}

  Values forward(const Values& in) const override {
    return lm_head_(ln_f_(in.only()));
  }

 private:
  Child<nn::LayerNorm> ln_f_;
  Child<nn::Linear> lm_head_;
};

void check(const Gpt2Options& o) {
  const bool positive = o.layers > 0 && o.width > 0 && o.heads > 0 &&
                        o.context > 0 && o.vocab > 0;
  if (!positive || o.width % o.heads != 0)
    throw UsageError(fmt::format(
        "gpt2: got layers {}, width {}, heads {}, context {}, vocab {}; "
        "expected all positive and heads that divide width",
        o.layers, o.width, o.heads, o.context, o.vocab));
  if (!(o.dropout >= 0.0f && o.dropout < 1.0f))
    throw UsageError(
        fmt::format("gpt2: got dropout {}; expected at least 0 and less than 1",
                    o.dropout));
}

}  // namespace

nn::Model gpt2(const Gpt2Options& options) {
  check(options);
  nn::Model model;
  model.add<Embed>("embed", options);
  for (std::int64_t i = 0; i < options.layers; ++i)
    model.add<Block>(fmt::format("h.{}", i), options);
  model.add<Head>("head", options);
  model.tie("head.lm_head.weight", "embed.wte.weight");
  return model;
}

}  // namespace quire::models
