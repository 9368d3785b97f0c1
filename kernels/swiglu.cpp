#include "quire/kernels/swiglu.h"

#include "quire/kernels/detail/arguments.h"

namespace quire::kernels {

void check(const SwigluForward& args) {
  require_alike("swiglu_forward",
                {{"gate", args.gate}, {"up", args.up}, {"y", args.y}});
}

void check(const SwigluBackward& args) {
  require_alike("swiglu_backward", {{"gate", args.gate},
                                    {"up", args.up},
                                    {"dy", args.dy},
                                    {"dgate", args.dgate},
                                    {"dup", args.dup}});
}

}  // namespace quire::kernels
