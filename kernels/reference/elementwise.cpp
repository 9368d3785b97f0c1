#include "quire/kernels/elementwise.h"

#include <cstring>

#include "quire/kernels/detail/element_types.h"
#include "quire/kernels/detail/random_values.h"

namespace quire::kernels::reference {
namespace {

// y[i] = op(a[i], b[i]) in fp32, rounded to their type.
template <class Op>
void combine(const Tensor& a, const Tensor& b, const Tensor& y, Op op) {
  visit_compute_type(y.dtype(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < y.numel(); ++i) {
      y.data<T>()[i] = T(op(static_cast<float>(a.data<T>()[i]),
                            static_cast<float>(b.data<T>()[i])));
    }
  });
}

float get(const Tensor& t, std::int64_t i) {
  float value = 0;
  visit_float_type(t.dtype(), [&]<class T>(T) {
    value = static_cast<float>(t.data<T>()[i]);
  });
  return value;
}

float round_to(DType type, float value) {
  visit_float_type(type,
                   [&]<class T>(T) { value = static_cast<float>(T(value)); });
  return value;
}

void put(const Tensor& t, std::int64_t i, float value) {
  visit_float_type(t.dtype(), [&]<class T>(T) { t.data<T>()[i] = T(value); });
}

}  // namespace

void add(const Add& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  stream.submit([args] {
    combine(args.a, args.b, args.y, [](float a, float b) { return a + b; });
  });
}

void multiply(const Multiply& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  stream.submit([args] {
    combine(args.a, args.b, args.y, [](float a, float b) { return a * b; });
  });
}

void scale(const Scale& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  stream.submit([args] {
    for (std::int64_t i = 0; i < args.y.numel(); ++i) {
      put(args.y, i, args.factor * get(args.x, i));
    }
  });
}

void add_rows(const AddRows& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  stream.submit([args] {
    for (std::int64_t i = 0; i < args.y.numel(); ++i) {
      put(args.y, i, get(args.x, i) + get(args.b, i % args.b.numel()));
    }
  });
}

void add_rows_backward(const AddRowsBackward& args, Stream& stream) {
  check(args);
  if (args.db.is_meta()) return;
  stream.submit([args] {
    const std::int64_t period = args.db.numel();
    for (std::int64_t j = 0; j < period; ++j) {
      float sum = 0;
      for (std::int64_t i = j; i < args.dy.numel(); i += period) {
        sum += get(args.dy, i);
      }
      float& db = args.db.data<float>()[j];
      db = args.accumulate ? db + sum : sum;
    }
  });
}

void cast(const Cast& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  stream.submit([args] {
    if (args.x.dtype() == args.y.dtype() && args.through == DType::kF32) {
      if (args.y.bytes() > 0) {
        std::memmove(args.y.raw(), args.x.raw(),
                     static_cast<std::size_t>(args.y.bytes()));
      }
      return;
    }
    for (std::int64_t i = 0; i < args.y.numel(); ++i) {
      put(args.y, i, round_to(args.through, get(args.x, i)));
    }
  });
}

void fill(const Fill& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  stream.submit([args] {
    for (std::int64_t i = 0; i < args.y.numel(); ++i) {
      put(args.y, i, args.value);
    }
  });
}

void fill_random(const FillRandom& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  stream.submit([args] {
    const RandomKey key{.key = args.key};
    for (std::int64_t i = 0; i < args.y.numel(); ++i) {
      const auto element = static_cast<std::uint64_t>(args.first + i);
      const auto values = random_values(args, key.block(element / 4));
      args.y.data<float>()[i] = values[element % 4];
    }
  });
}

}  // namespace quire::kernels::reference
