#include "quire/kernels/sum.h"

#include "quire/kernels/detail/arguments.h"
#include "quire/kernels/reference/elements.h"

namespace quire::kernels::reference {

double sum(const Sum& args, Stream& stream) {
  require_alike("sum", {{"x", args.x}});
  if (args.x.is_meta()) return 0.0;
  double total = 0.0;
  stream.submit([&args, &total] {
    for (std::int64_t i = 0; i < args.x.numel(); ++i) total += load(args.x, i);
  });
  stream.synchronize();
  return total;
}

}  // namespace quire::kernels::reference
