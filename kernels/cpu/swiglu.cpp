#include "quire/kernels/swiglu.h"

#include <algorithm>

#include "quire/kernels/cpu/ranges.h"
#include "quire/kernels/cpu/rows.h"
#include "quire/kernels/cpu/vector_math.h"
#include "quire/kernels/detail/element_types.h"

namespace quire::kernels {
namespace {

// Elements that are computed at a time, from copies in fp32: results may lie
// where inputs do, and loops over copies are vector code all the same.
constexpr std::int64_t kPiece = 256;

// fn(i, n) for the pieces of [begin, end).
template <class Fn>
void for_pieces(std::int64_t begin, std::int64_t end, Fn fn) {
  for (std::int64_t i = begin; i < end; i += kPiece)
    fn(i, std::min(kPiece, end - i));
}

template <class T>
void forward(const SwigluForward& args, std::int64_t begin, std::int64_t end) {
  float gate[kPiece], up[kPiece];
  for_pieces(begin, end, [&](std::int64_t i, std::int64_t n) {
    widen(args.gate.data<T>() + i, gate, n);
    widen(args.up.data<T>() + i, up, n);
    for (std::int64_t e = 0; e < n; ++e)
      up[e] *= gate[e] * logistic(gate[e]).value;
    narrow(up, args.y.data<T>() + i, n);
  });
}

// The derivative of g s(g) is s(g) (1 + g (1 - s(g))).
template <class T>
void backward(const SwigluBackward& args, std::int64_t begin,
              std::int64_t end) {
  float dy[kPiece], gate[kPiece], up[kPiece];
  for_pieces(begin, end, [&](std::int64_t i, std::int64_t n) {
    widen(args.dy.data<T>() + i, dy, n);
    widen(args.gate.data<T>() + i, gate, n);
    widen(args.up.data<T>() + i, up, n);
    for (std::int64_t e = 0; e < n; ++e) {
      const float g = gate[e];
      const Logistic s = logistic(g);
      gate[e] =
          dy[e] * up[e] * multiply_add(s.value * s.complement, g, s.value);
      up[e] = dy[e] * (g * s.value);
    }
    narrow(gate, args.dgate.data<T>() + i, n);
    narrow(up, args.dup.data<T>() + i, n);
  });
}

}  // namespace

void swiglu_forward(const SwigluForward& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  ThreadPool& pool = stream.pool();
  stream.submit([args, &pool] {
    visit_compute_type(args.y.dtype(), [&]<class T>(T) {
      for_ranges(pool, args.y.numel(),
                 [&](std::int64_t begin, std::int64_t end) {
                   forward<T>(args, begin, end);
                 });
    });
  });
}

void swiglu_backward(const SwigluBackward& args, Stream& stream) {
  check(args);
  if (args.dy.is_meta()) return;
  ThreadPool& pool = stream.pool();
  stream.submit([args, &pool] {
    visit_compute_type(args.dy.dtype(), [&]<class T>(T) {
      for_ranges(pool, args.dy.numel(),
                 [&](std::int64_t begin, std::int64_t end) {
                   backward<T>(args, begin, end);
                 });
    });
  });
}

}  // namespace quire::kernels
