// A parameter's description: it holds no values, so that building a model takes
// no memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "quire/autograd/tape.h"
#include "quire/core/shape.h"

namespace quire::nn {

using autograd::Tape;
using autograd::Var;

// What a parameter's elements are before step 1: a function of (seed, parameter
// name, element) alone.
struct Initializer {
  enum class Kind : std::uint8_t { kConstant, kUniform, kNormal };
  Kind kind = Kind::kConstant;
  float a = 0.0f;  // the constant; low; mean
  float b = 0.0f;  // high; deviation
};
inline Initializer constant(float value) {
  return {Initializer::Kind::kConstant, value, 0.0f};
}
inline Initializer uniform(float low, float high) {
  return {Initializer::Kind::kUniform, low, high};
}
inline Initializer normal(float deviation) {
  return {Initializer::Kind::kNormal, 0.0f, deviation};
}

class Module;

// A member of a module, registered under its name:
//
//   nn::Parameter weight_{*this, "weight", {.shape = {out, in}}};
//
// Const after its model is built; used by all ranks of a process.
class Parameter {
 public:
  struct Options {
    Shape shape;
    Initializer init = {};
    bool trainable = true;
    // Weight decay by default: on matrices (rank >= 2) only.
    std::optional<bool> decay = {};
  };
  // Throws UsageError if the name is empty, holds a '.', or is taken in the
  // module.
  Parameter(Module& parent, std::string name, Options options);
  Parameter(const Parameter&) = delete;
  Parameter& operator=(const Parameter&) = delete;

  const std::string& name() const { return name_; }
  const Options& options() const { return options_; }
  // The value on `tape`. REQUIRES: the module is part of a model.
  Var operator()(Tape& tape) const;

 private:
  friend class Model;
  std::string name_;
  Options options_;
  int id_ = -1;  // index among the model's parameters; the shared one's if tied
};

}  // namespace quire::nn
