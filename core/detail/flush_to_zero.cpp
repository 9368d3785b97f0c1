#include "quire/core/detail/flush_to_zero.h"

#include <cstdint>

#if defined(__SSE__)
#include <immintrin.h>
#endif

namespace quire {

void flush_to_zero() {
#if defined(__SSE__)
  constexpr unsigned kFlushToZeroAndDenormalsAreZero = 0x8040;
  const unsigned control = _mm_getcsr();
  const unsigned wanted = control | kFlushToZeroAndDenormalsAreZero;
  if (control != wanted) _mm_setcsr(wanted);
#elif defined(__aarch64__)
  constexpr std::uint64_t kFlushToZero = std::uint64_t{1} << 24;
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  if ((control & kFlushToZero) == 0)
    asm volatile("msr fpcr, %0" : : "r"(control | kFlushToZero));
#endif
}

}  // namespace quire
