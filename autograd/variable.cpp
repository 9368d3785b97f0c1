#include "quire/autograd/variable.h"

#include "quire/autograd/tape.h"

namespace quire::autograd {

Var::Var(Tensor value, Tape* tape, std::int32_t node)
    : value_(std::move(value)),
      tape_(tape),
      shape_(value_.shape()),
      dtype_(value_.dtype()),
      node_(node) {}

Var::Var(const Var& other)
    : value_(other.parameter_ >= 0 ? Tensor() : other.value_),
      tape_(other.tape_),
      shape_(other.shape_),
      dtype_(other.dtype_),
      node_(other.node_),
      parameter_(other.parameter_) {}

Var::Var(Var&& other) noexcept
    : value_(other.parameter_ >= 0 ? Tensor() : std::move(other.value_)),
      tape_(other.tape_),
      shape_(other.shape_),
      dtype_(other.dtype_),
      node_(other.node_),
      parameter_(other.parameter_) {
  other.tape_ = nullptr;
  other.node_ = other.parameter_ = -1;
}

Var& Var::operator=(const Var& other) { return *this = Var(other); }

Var& Var::operator=(Var&& other) noexcept {
  value_ = other.parameter_ >= 0 ? Tensor() : std::move(other.value_);
  shape_ = other.shape_;
  dtype_ = other.dtype_;
  tape_ = std::exchange(other.tape_, nullptr);
  node_ = std::exchange(other.node_, -1);
  parameter_ = std::exchange(other.parameter_, -1);
  return *this;
}

Var Var::without_value() const {
  Var place;
  place.tape_ = tape_;
  place.shape_ = shape_;
  place.dtype_ = dtype_;
  place.node_ = node_;
  place.parameter_ = parameter_;
  return place;
}

void Var::fetch() const { value_ = tape_->parameter_value(parameter_); }

void Var::throw_undefined() {
  throw UsageError(
      "a variable without a value was used; expected one that a tape, an "
      "operation or a layer gave");
}

}  // namespace quire::autograd
