// Rows of a table by index.
#pragma once

#include "quire/core/stream.h"
#include "quire/core/tensor.h"

namespace quire::kernels {

// y[i, :] = table[ids[i], :]. Throws UsageError naming the first position and
// id outside [0, V).
struct EmbeddingForward {
  Tensor ids;    // [M] i32
  Tensor table;  // [V, C] fp32 or bf16
  Tensor y;      // [M, C] of table's type
};
void embedding_forward(const EmbeddingForward& args, Stream& stream);

// dtable[ids[i], :] += dy[i, :], added in the order of i.
struct EmbeddingBackward {
  Tensor ids;     // [M] i32, every id in [0, V)
  Tensor dy;      // [M, C] fp32 or bf16
  Tensor dtable;  // [V, C] fp32
  // False: dtable is overwritten, rows that no id names with zeros.
  bool accumulate = false;
};
void embedding_backward(const EmbeddingBackward& args, Stream& stream);

// Every implementation begins with it: UsageError naming the kernel and what it
// got unless the arguments are as above.
void check(const EmbeddingForward& args);
void check(const EmbeddingBackward& args);
// Throws UsageError naming the first position whose id is not a row of the
// table. Not on the meta device.
void check_ids(const Tensor& ids, const Tensor& table);

namespace reference {
void embedding_forward(const EmbeddingForward& args, Stream& stream);
void embedding_backward(const EmbeddingBackward& args, Stream& stream);
}  // namespace reference

}  // namespace quire::kernels
