// Cuts ranges of elements into panels whose bounds depend on the length alone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "quire/core/divide.h"
#include "quire/core/thread_pool.h"

namespace quire::kernels {

inline constexpr std::int64_t kPanelElements = std::int64_t{1} << 14;

// fn(begin, end) for every panel of [0, n), each on one thread.
template <class Fn>
void for_ranges(ThreadPool& pool, std::int64_t n, std::int64_t panel, Fn fn) {
  pool.parallel_for(divide_up(n, panel), [&](std::int64_t index, int) {
    fn(index * panel, std::min(n, (index + 1) * panel));
  });
}

template <class Fn>
void for_ranges(ThreadPool& pool, std::int64_t n, Fn fn) {
  for_ranges(pool, n, kPanelElements, fn);
}

}  // namespace quire::kernels
