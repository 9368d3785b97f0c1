#include "quire/kernels/optimizer_update.h"

#include "quire/kernels/detail/arguments.h"

namespace quire::kernels {
namespace {

void require_update(std::string_view kernel,
                    std::initializer_list<Argument> states,
                    const Tensor& published) {
  require_one_shape(kernel, states);
  require_one_shape(kernel, {*states.begin(), {"published", published}});
  for (const Argument& state : states) {
    if (state.tensor.dtype() != DType::kF32) {
      refuse(kernel, "states, master and gradient in fp32", states);
    }
  }
  if (!is_float_type(published.dtype())) {
    refuse(kernel, "a published value of a float type",
           {{"published", published}});
  }
}

}  // namespace

void check(const AdamUpdate& args) {
  require_update("adam_update",
                 {{"grad", args.grad},
                  {"master", args.master},
                  {"m", args.m},
                  {"v", args.v}},
                 args.published);
  if (!(args.correction1 > 0 && args.correction2 > 0)) {
    refuse("adam_update", "corrections above 0: steps count from 1",
           {{"master", args.master}});
  }
}

void check(const SgdUpdate& args) {
  require_update("sgd_update", {{"grad", args.grad}, {"master", args.master}},
                 args.published);
  if (args.momentum == 0 && !args.nesterov) {
    if (!args.velocity.defined()) return;
  } else if (args.momentum != 0 && args.velocity.defined()) {
    return require_update("sgd_update",
                          {{"grad", args.grad}, {"velocity", args.velocity}},
                          args.published);
  }
  refuse("sgd_update", "a velocity if and only if there is momentum",
         {{"velocity", args.velocity}});
}

}  // namespace quire::kernels
