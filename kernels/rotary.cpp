#include "quire/kernels/rotary.h"

#include <fmt/format.h>

#include "quire/kernels/detail/arguments.h"

namespace quire::kernels {

void check(const Rotary& args) {
  require_alike("rotary", {{"x", args.x}, {"y", args.y}});
  const auto width = 2 * std::ssize(args.frequencies);
  if (args.x.shape().rank() == 3 && width > 0 && args.x.dim(2) % width == 0)
    return;
  refuse("rotary",
         fmt::format("[B, T, H D] with D / 2 frequencies, "
                     "not {} of them",
                     std::ssize(args.frequencies)),
         {{"x", args.x}, {"y", args.y}});
}

}  // namespace quire::kernels
