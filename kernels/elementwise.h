// Element-wise arithmetic, conversion and filling. Shapes of one call are equal
// unless said otherwise.
#pragma once

#include <cstdint>

#include "quire/core/philox.h"
#include "quire/core/stream.h"
#include "quire/core/tensor.h"

namespace quire::kernels {

// y = a + b in fp32, rounded to the type that all three share (fp32 or bf16). y
// may be a or b.
struct Add {
  Tensor a;
  Tensor b;
  Tensor y;
};
void add(const Add& args, Stream& stream);

// y[i, :] = x[i, :] + b[:]: b of [C] or of [R, C] with R dividing the rows,
// repeated (a position table over a batch).
struct AddRows {
  Tensor x;  // [M, C]
  Tensor b;  // [R, C]
  Tensor y;  // [M, C]; may be x
};
void add_rows(const AddRows& args, Stream& stream);

// db[r, :] (+)= sum over m of dy[m*R + r, :], in order of m, in fp32.
struct AddRowsBackward {
  Tensor dy;  // [M, C]
  Tensor db;  // [R, C] fp32
  bool accumulate = false;
};
void add_rows_backward(const AddRowsBackward& args, Stream& stream);

// y = a * b, as Add.
struct Multiply {
  Tensor a;
  Tensor b;
  Tensor y;
};
void multiply(const Multiply& args, Stream& stream);

// y = factor * x. y may be x.
struct Scale {
  Tensor x;
  Tensor y;
  float factor;
};
void scale(const Scale& args, Stream& stream);

// y = x, converted between fp32, bf16 and fp16, rounded to nearest even; a
// plain copy for equal types of any kind. `through`: round to this type first,
// so that y holds values of it (a leaf's rounding to the wire).
struct Cast {
  Tensor x;
  Tensor y;
  DType through = DType::kF32;
};
void cast(const Cast& args, Stream& stream);

// Sets every element of an fp32 or bf16 tensor.
struct Fill {
  Tensor y;
  float value = 0.0f;
};
void fill(const Fill& args, Stream& stream);

// Elements [first, first + numel) of a parameter's initial values, each a
// function of (key, its own index e) alone: with w the four words of the block
// of key at counter {e / 4 (64 bits), 0, 0},
//   kUniform:  a + (b - a) uniform(w[e % 4])
//   kNormal:   a + b z[e % 4], where Box and Muller's transform makes (z0, z1)
//     of (w0, w1) and (z2, z3) of (w2, w3): of (u, v) = (1 - uniform(w0),
//     uniform(w1)) it makes sqrt(-2 ln u) (cos 2 pi v, sin 2 pi v).
struct FillRandom {
  enum class Kind : std::uint8_t { kUniform, kNormal };
  Tensor y;  // fp32
  Kind kind;
  float a;  // low, or mean
  float b;  // high, or deviation
  std::uint64_t key;
  std::int64_t first = 0;  // index in the parameter of y's first element
};
void fill_random(const FillRandom& args, Stream& stream);

// Every implementation begins with it: UsageError naming the kernel and what it
// got unless the arguments are as above.
void check(const Add& args);
void check(const AddRows& args);
void check(const AddRowsBackward& args);
void check(const Multiply& args);
void check(const Scale& args);
void check(const Cast& args);
void check(const Fill& args);
void check(const FillRandom& args);

namespace reference {
void add(const Add& args, Stream& stream);
void add_rows(const AddRows& args, Stream& stream);
void add_rows_backward(const AddRowsBackward& args, Stream& stream);
void multiply(const Multiply& args, Stream& stream);
void scale(const Scale& args, Stream& stream);
void cast(const Cast& args, Stream& stream);
void fill(const Fill& args, Stream& stream);
void fill_random(const FillRandom& args, Stream& stream);
}  // namespace reference

}  // namespace quire::kernels
