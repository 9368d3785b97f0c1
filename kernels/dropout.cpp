#include "quire/kernels/dropout.h"

#include "quire/kernels/detail/arguments.h"

namespace quire::kernels {

void check(const Dropout& args) {
  require_alike("dropout", {{"x", args.x}, {"y", args.y}});
  if (!(args.probability >= 0.0f && args.probability < 1.0f)) {
    refuse("dropout",
           "0 <= probability < 1, not " + std::to_string(args.probability),
           {{"x", args.x}});
  }
}

}  // namespace quire::kernels
