#include "quire/nn/parameter.h"

#include <fmt/format.h>

#include "quire/nn/module.h"

namespace quire::nn {

Parameter::Parameter(Module& parent, std::string name, Options options)
    : name_(std::move(name)), options_(std::move(options)) {
  parent.add_parameter(*this);
}

Var Parameter::operator()(Tape& tape) const {
  if (id_ < 0)
    throw UsageError(fmt::format(
        "layer \"{}\": the parameter \"{}\" {} was read, but its module is not "
        "part of a model; add the layer to an nn::Model",
        tape.layer(), name_, options_.shape.to_string()));
  return tape.parameter(id_);
}

}  // namespace quire::nn
