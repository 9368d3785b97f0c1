// A layer is what a model lists: a module with one virtual forward over named
// values.
#pragma once

#include "quire/nn/module.h"
#include "quire/nn/values.h"

namespace quire::nn {

class Layer : public Module {
 public:
  // Composes operations; the tape gives the backward. Const: a layer is shared
  // by all ranks of a process and may stand in the list more than once.
  virtual Values forward(const Values& in) const = 0;
};

}  // namespace quire::nn
