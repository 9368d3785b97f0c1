#include "quire/kernels/dropout.h"

#include "quire/kernels/cpu/philox_blocks.h"
#include "quire/kernels/cpu/ranges.h"
#include "quire/kernels/detail/element_types.h"

namespace quire::kernels {
namespace {

constexpr std::int64_t kGroup = 4 * kQuads;  // elements of one philox_blocks

template <class T>
void drop(const T* x, T* y, const QuadWords& words, float probability) {
  for (std::int64_t i = 0; i < kGroup; ++i) {
    const float value = static_cast<float>(x[i]) / (1.0f - probability);
    const std::uint32_t word = words[static_cast<std::size_t>(i)];
    y[i] = T(uniform(word) >= probability ? value : 0.0f);
  }
}

template <class T>
void drop_range(const Dropout& args, std::int64_t begin, std::int64_t end) {
  const T* x = args.x.data<T>();
  T* y = args.y.data<T>();
  QuadWords words;
  for (std::int64_t i = begin; i < end; i += kGroup) {
    philox_blocks(args.key, static_cast<std::uint64_t>(i / 4), words);
    if (end - i >= kGroup) {
      drop(x + i, y + i, words, args.probability);
    } else {
      T padded[kGroup] = {};
      std::copy(x + i, x + end, padded);
      drop(padded, padded, words, args.probability);
      std::copy(padded, padded + (end - i), y + i);
    }
  }
}

}  // namespace

void dropout(const Dropout& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  stream.submit([args, &pool = stream.pool()] {
    visit_compute_type(args.y.dtype(), [&]<class T>(T) {
      for_ranges(pool, args.y.numel(),
                 [&](std::int64_t begin, std::int64_t end) {
                   drop_range<T>(args, begin, end);
                 });
    });
  });
}

}  // namespace quire::kernels
