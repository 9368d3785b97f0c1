// Dropout with a mask that is a function of a key and the element (Srivastava
// et al., 2014).
#pragma once

#include "quire/core/philox.h"
#include "quire/core/stream.h"
#include "quire/core/tensor.h"

namespace quire::kernels {

// y[e] = x[e] / (1 - probability) if uniform(word e % 4 of key.block(e / 4)) >=
// probability, else 0. Its own backward: apply it to dy with the same key.
// REQUIRES: 0 <= probability < 1; x and y fp32 or bf16 of one type; y may be x.
struct Dropout {
  Tensor x;
  Tensor y;
  float probability;
  RandomKey key;
};
void dropout(const Dropout& args, Stream& stream);

// Every implementation begins with it: UsageError naming the kernel and what it
// got unless the arguments are as above.
void check(const Dropout& args);

namespace reference {
void dropout(const Dropout& args, Stream& stream);
}  // namespace reference

}  // namespace quire::kernels
