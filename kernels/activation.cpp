#include "quire/kernels/activation.h"

#include "quire/kernels/detail/arguments.h"

namespace quire::kernels {

void check(const ActivationForward& args) {
  require_alike("activation_forward", {{"x", args.x}, {"y", args.y}});
}

void check(const ActivationBackward& args) {
  require_alike("activation_backward",
                {{"x", args.x}, {"dy", args.dy}, {"dx", args.dx}});
}

}  // namespace quire::kernels
