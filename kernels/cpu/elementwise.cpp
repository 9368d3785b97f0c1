#include "quire/kernels/elementwise.h"

#include <array>
#include <cstring>

#include "quire/kernels/cpu/philox_blocks.h"
#include "quire/kernels/cpu/ranges.h"
#include "quire/kernels/detail/element_types.h"
#include "quire/kernels/detail/random_values.h"

namespace quire::kernels {
namespace {

// y[i] = op(a[i], b[i]) in fp32 over panels of y, rounded to their type.
template <class Op>
void combine(const Add& args, ThreadPool& pool, Op op) {
  visit_compute_type(args.y.dtype(), [&]<class T>(T) {
    const T* a = args.a.data<T>();
    const T* b = args.b.data<T>();
    T* y = args.y.data<T>();
    for_ranges(pool, args.y.numel(), [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        y[i] = T(op(static_cast<float>(a[i]), static_cast<float>(b[i])));
      }
    });
  });
}

template <class T>
void add_row(const T* x, const T* b, T* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = T(static_cast<float>(x[i]) + static_cast<float>(b[i]));
  }
}

// Elements [begin, end) of x plus the rows of b that lie over them.
template <class T>
void add_repeated(const AddRows& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t period = args.b.numel();
  while (begin < end) {
    const std::int64_t phase = begin % period;
    const std::int64_t n = std::min(end - begin, period - phase);
    add_row(args.x.data<T>() + begin, args.b.data<T>() + phase,
            args.y.data<T>() + begin, n);
    begin += n;
  }
}

// Columns of one panel of add_rows_backward: their sums stay in the first level
// of cache while the rows stream by.
constexpr std::int64_t kNarrow = 128;
constexpr std::int64_t kWide = 1024;

template <class T>
void sum_columns(const AddRowsBackward& args, std::int64_t begin,
                 std::int64_t end) {
  const std::int64_t period = args.db.numel();
  std::array<float, kWide> sums{};
  for (std::int64_t row = 0; row < args.dy.numel(); row += period) {
    const T* dy = args.dy.data<T>() + row + begin;
    for (std::int64_t j = 0; j < end - begin; ++j) {
      sums[static_cast<std::size_t>(j)] += static_cast<float>(dy[j]);
    }
  }
  float* db = args.db.data<float>() + begin;
  for (std::int64_t j = 0; j < end - begin; ++j) {
    const float sum = sums[static_cast<std::size_t>(j)];
    db[j] = args.accumulate ? db[j] + sum : sum;
  }
}

void copy(const Cast& args, ThreadPool& pool) {
  if (args.x.raw() == args.y.raw()) return;
  for_ranges(pool, args.y.bytes(), 4 * kPanelElements,
             [&](std::int64_t begin, std::int64_t end) {
               std::memmove(args.y.raw() + begin, args.x.raw() + begin,
                            static_cast<std::size_t>(end - begin));
             });
}

template <class From, class Through, class To>
void convert(const Cast& args, ThreadPool& pool) {
  const From* x = args.x.data<From>();
  To* y = args.y.data<To>();
  for_ranges(pool, args.y.numel(), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      y[i] = To(static_cast<float>(Through(static_cast<float>(x[i]))));
    }
  });
}

// Elements [begin, end) of y, in whole blocks of the generator around them.
void fill_random_range(const FillRandom& args, std::int64_t begin,
                       std::int64_t end) {
  const RandomKey key{.key = args.key};
  QuadWords words;
  std::int64_t i = begin;
  while (i < end) {
    const std::int64_t group = (args.first + i) / (4 * kQuads) * (4 * kQuads);
    philox_blocks(key, static_cast<std::uint64_t>(group / 4), words);
    const std::int64_t stop = std::min(end, group + 4 * kQuads - args.first);
    while (i < stop) {
      const std::int64_t quad = (args.first + i - group) / 4;
      const std::uint32_t* w = words.data() + 4 * quad;
      const auto values = random_values(args, {w[0], w[1], w[2], w[3]});
      const std::int64_t quad_begin = group + 4 * quad - args.first;
      for (; i < std::min(stop, quad_begin + 4); ++i) {
        args.y.data<float>()[i] =
            values[static_cast<std::size_t>(i - quad_begin)];
      }
    }
  }
}

}  // namespace

void add(const Add& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  stream.submit([args, &pool = stream.pool()] {
    combine(args, pool, [](float a, float b) { return a + b; });
  });
}

void multiply(const Multiply& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  stream.submit([args, &pool = stream.pool()] {
    combine({.a = args.a, .b = args.b, .y = args.y}, pool,
            [](float a, float b) { return a * b; });
  });
}

void scale(const Scale& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  stream.submit([args, &pool = stream.pool()] {
    combine({.a = args.x, .b = args.x, .y = args.y}, pool,
            [factor = args.factor](float x, float) { return factor * x; });
  });
}

void add_rows(const AddRows& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  stream.submit([args, &pool = stream.pool()] {
    visit_compute_type(args.y.dtype(), [&]<class T>(T) {
      for_ranges(pool, args.y.numel(),
                 [&](std::int64_t begin, std::int64_t end) {
                   add_repeated<T>(args, begin, end);
                 });
    });
  });
}

void add_rows_backward(const AddRowsBackward& args, Stream& stream) {
  check(args);
  if (args.db.is_meta()) return;
  stream.submit([args, &pool = stream.pool()] {
    const std::int64_t columns = args.db.numel();
    visit_compute_type(args.dy.dtype(), [&]<class T>(T) {
      for_ranges(pool, columns, columns < 8 * kWide ? kNarrow : kWide,
                 [&](std::int64_t begin, std::int64_t end) {
                   sum_columns<T>(args, begin, end);
                 });
    });
  });
}

void cast(const Cast& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  stream.submit([args, &pool = stream.pool()] {
    if (args.x.dtype() == args.y.dtype() && args.through == DType::kF32) {
      return copy(args, pool);
    }
    visit_float_type(args.x.dtype(), [&]<class From>(From) {
      visit_float_type(args.through, [&]<class Through>(Through) {
        visit_float_type(args.y.dtype(), [&]<class To>(To) {
          convert<From, Through, To>(args, pool);
        });
      });
    });
  });
}

void fill(const Fill& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  stream.submit([args, &pool = stream.pool()] {
    visit_compute_type(args.y.dtype(), [&]<class T>(T) {
      T* y = args.y.data<T>();
      for_ranges(
          pool, args.y.numel(),
          [y, value = T(args.value)](std::int64_t begin, std::int64_t end) {
            std::fill(y + begin, y + end, value);
          });
    });
  });
}

void fill_random(const FillRandom& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  stream.submit([args, &pool = stream.pool()] {
    for_ranges(pool, args.y.numel(), [&](std::int64_t begin, std::int64_t end) {
      fill_random_range(args, begin, end);
    });
  });
}

}  // namespace quire::kernels
