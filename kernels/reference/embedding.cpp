#include "quire/kernels/embedding.h"

#include <algorithm>

#include "quire/kernels/reference/elements.h"

namespace quire::kernels::reference {
namespace {

void run(const EmbeddingForward& args) {
  check_ids(args.ids, args.table);
  const std::int64_t width = args.table.dim(1);
  for (std::int64_t i = 0; i < args.y.numel(); ++i) {
    const std::int64_t id = args.ids.data<std::int32_t>()[i / width];
    store(args.y, i, load(args.table, id * width + i % width));
  }
}

void run(const EmbeddingBackward& args) {
  const std::int64_t width = args.dtable.dim(1);
  float* table = args.dtable.data<float>();
  if (!args.accumulate) std::fill_n(table, args.dtable.numel(), 0.0f);
  for (std::int64_t i = 0; i < args.dy.numel(); ++i) {
    const std::int64_t id = args.ids.data<std::int32_t>()[i / width];
    table[id * width + i % width] += load(args.dy, i);
  }
}

}  // namespace

void embedding_forward(const EmbeddingForward& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  stream.submit([args] { run(args); });
}

void embedding_backward(const EmbeddingBackward& args, Stream& stream) {
  check(args);
  if (args.dy.is_meta()) return;
  stream.submit([args] { run(args); });
}

}  // namespace quire::kernels::reference
