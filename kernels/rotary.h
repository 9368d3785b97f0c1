// Rotary embedding (Su et al., 2021) in its rotate-half form: element i of a
// head and element i + D/2 are a pair that is turned by the angle t * f_i, t
// being the token's place in its sample.
#pragma once

#include <cstdint>
#include <span>

#include "quire/core/stream.h"
#include "quire/core/tensor.h"

namespace quire::kernels {

//   y_i       = x_i cos(t f_i) - x_{i+D/2} sin(t f_i)
//   y_{i+D/2} = x_{i+D/2} cos(t f_i) + x_i sin(t f_i)
// Angles, sines and cosines in fp32. The backward is the same with kBackward,
// which turns by -t f_i: no table is kept.
struct Rotary {
  enum class Direction : std::uint8_t { kForward, kBackward };
  Tensor x;                            // [B, T, H * D] fp32 or bf16
  Tensor y;                            // as x; may be x itself
  std::span<const float> frequencies;  // [D / 2], read when the work runs
  Direction direction = Direction::kForward;
};
void rotary(const Rotary& args, Stream& stream);

// Every implementation begins with it: UsageError naming the kernel and what it
// got unless the arguments are as above.
void check(const Rotary& args);

namespace reference {
void rotary(const Rotary& args, Stream& stream);
}  // namespace reference

}  // namespace quire::kernels
