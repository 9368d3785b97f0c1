// A layer of our own, from standard layers and the operation of our own.
#pragma once

#include <cstdint>

#include "quire/quire.h"
#include "squared_relu.h"

// x + down(squared_relu(up(norm(x)))).
class Residual final : public quire::nn::Layer {
 public:
  struct Options {
    std::int64_t width;
  };
  explicit Residual(Options o)
      : norm_(*this, "norm", {.width = o.width}),
        up_(*this, "up", {.in = o.width, .out = 4 * o.width}),
        down_(*this, "down", {.in = 4 * o.width, .out = o.width}) {}

  quire::nn::Values forward(const quire::nn::Values& in) const override {
    const quire::nn::Var& x = in.only();
    return x + down_(squared_relu(up_(norm_(x))));
  }

 private:
  quire::nn::Child<quire::nn::LayerNorm> norm_;
  quire::nn::Child<quire::nn::Linear> up_, down_;
};
