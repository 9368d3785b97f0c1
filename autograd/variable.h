// A value that a tape knows: what operations take and give.
#pragma once

#include <cstdint>

#include "quire/core/tensor.h"

namespace quire::autograd {

class Tape;

// A handle: the tensor, the tape, and the place on it. The tensor lives as long
// as a Var or a backward needs it, so what no backward reads is freed as soon
// as the layer's locals die. Valid while the tape lives.
//
// A parameter's tensor may lie elsewhere in the backward than it did in the
// forward (its unit was released and gathered again). So a copy of a
// parameter's Var holds no tensor and asks the tape's source at its first
// value(): a backward captures Vars, never a parameter's tensor.
class Var {
 public:
  Var() = default;
  Var(const Var& other);
  Var(Var&& other) noexcept;
  Var& operator=(const Var& other);
  Var& operator=(Var&& other) noexcept;
  ~Var() = default;

  bool defined() const { return tape_ != nullptr; }
  // Undefined for an undefined Var and for one without_value().
  const Tensor& value() const {
    if (parameter_ >= 0 && !value_.defined()) fetch();
    return value_;
  }
  const Shape& shape() const { return shape_; }
  std::int64_t dim(int i) const { return shape_[i]; }
  DType dtype() const { return dtype_; }
  // Throws UsageError unless defined().
  Tape& tape() const {
    if (tape_ == nullptr) throw_undefined();
    return *tape_;
  }
  // True if the loss may depend on it through something trainable.
  bool needs_grad() const { return node_ >= 0; }
  bool is_parameter() const { return parameter_ >= 0; }
  // The place on the tape alone: what a backward captures that adds a gradient
  // to it and does not read it.
  Var without_value() const;

 private:
  friend class Tape;
  Var(Tensor value, Tape* tape, std::int32_t node);
  void fetch() const;
  [[noreturn]] static void throw_undefined();

  mutable Tensor value_;
  Tape* tape_ = nullptr;
  Shape shape_;
  DType dtype_ = DType::kF32;
  std::int32_t node_ = -1;
  std::int32_t parameter_ = -1;  // its id; -1: not a parameter
};

}  // namespace quire::autograd
