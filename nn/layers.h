// The standard layers. Each is a Layer (Values in, its result out) and callable
// with variables, so that it serves in a model's list and as a child.
#pragma once

#include <cstdint>
#include <optional>

#include "quire/autograd/operations.h"
#include "quire/nn/layer.h"

namespace quire::nn {

// What a linear layer of `in` inputs starts from: uniform(-1/sqrt(in),
// 1/sqrt(in)).
Initializer linear_init(std::int64_t in);

// y = x w^T + b.
class Linear final : public Layer {
 public:
  struct Options {
    std::int64_t in;
    std::int64_t out;
    bool bias = true;
    std::optional<Initializer> init = {};  // of the weight: linear_init(in)
  };
  explicit Linear(Options options);
  Var operator()(const Var& x) const;
  Values forward(const Values& in) const override { return (*this)(in.only()); }

 private:
  Parameter weight_;               // [out, in]
  std::optional<Parameter> bias_;  // [out], zero at first
};

// Rows of a table.
class Embedding final : public Layer {
 public:
  struct Options {
    std::int64_t count;
    std::int64_t width;
    Initializer init = normal(0.02f);
  };
  explicit Embedding(Options options);
  Var operator()(const Var& ids) const;
  // The whole table, [count, width].
  Var table(Tape& tape) const { return weight_(tape); }
  Values forward(const Values& in) const override { return (*this)(in.only()); }

 private:
  Parameter weight_;
};

class LayerNorm final : public Layer {
 public:
  struct Options {
    std::int64_t width;
    float eps = 1e-5f;
  };
  explicit LayerNorm(Options options);
  Var operator()(const Var& x) const;
  Values forward(const Values& in) const override { return (*this)(in.only()); }

 private:
  Options options_;
  Parameter weight_;  // ones
  Parameter bias_;    // zeros
};

class RmsNorm final : public Layer {
 public:
  struct Options {
    std::int64_t width;
    float eps = 1e-6f;
  };
  explicit RmsNorm(Options options);
  Var operator()(const Var& x) const;
  Values forward(const Values& in) const override { return (*this)(in.only()); }

 private:
  Options options_;
  Parameter weight_;  // ones
};

class Dropout final : public Layer {
 public:
  struct Options {
    float probability;
  };
  explicit Dropout(Options options) : options_(options) {}
  Var operator()(const Var& x) const {
    return autograd::dropout(x, options_.probability);
  }
  Values forward(const Values& in) const override { return (*this)(in.only()); }

 private:
  Options options_;
};

}  // namespace quire::nn
