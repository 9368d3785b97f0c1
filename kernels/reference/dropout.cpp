#include "quire/kernels/dropout.h"

#include "quire/kernels/detail/element_types.h"

namespace quire::kernels::reference {

void dropout(const Dropout& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  stream.submit([args] {
    visit_compute_type(args.y.dtype(), [&]<class T>(T) {
      for (std::int64_t e = 0; e < args.y.numel(); ++e) {
        const auto element = static_cast<std::uint64_t>(e);
        const std::uint32_t word = args.key.block(element / 4)[element % 4];
        const float x = static_cast<float>(args.x.data<T>()[e]);
        const bool keep = uniform(word) >= args.probability;
        args.y.data<T>()[e] = T(keep ? x / (1.0f - args.probability) : 0.0f);
      }
    });
  });
}

}  // namespace quire::kernels::reference
