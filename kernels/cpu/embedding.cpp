#include "quire/kernels/embedding.h"

#include <algorithm>

#include "quire/core/divide.h"
#include "quire/kernels/cpu/ranges.h"
#include "quire/kernels/detail/element_types.h"

namespace quire::kernels {
namespace {

// Rows that one panel copies.
constexpr std::int64_t kRows = 32;
// The table's rows are cut into at most this many panels, each of which reads
// all ids.
constexpr std::int64_t kMostPanels = 64;

template <class T>
void copy_rows(const EmbeddingForward& args, ThreadPool& pool) {
  const std::int64_t width = args.table.dim(1);
  const auto* ids = args.ids.data<std::int32_t>();
  for_ranges(pool, args.ids.dim(0), kRows,
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i)
                 std::copy_n(args.table.data<T>() + ids[i] * width, width,
                             args.y.data<T>() + i * width);
             });
}

template <class T>
void add_row(const T* x, float* sum, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) sum[i] += static_cast<float>(x[i]);
}

// The rows [begin, end) of the table, from all ids in order.
template <class T>
void add_to_rows(const EmbeddingBackward& args, std::int64_t begin,
                 std::int64_t end) {
  const std::int64_t width = args.dtable.dim(1);
  const auto* ids = args.ids.data<std::int32_t>();
  float* table = args.dtable.data<float>();
  if (!args.accumulate)
    std::fill_n(table + begin * width, (end - begin) * width, 0.0f);
  for (std::int64_t i = 0; i < args.ids.dim(0); ++i) {
    if (ids[i] < begin || ids[i] >= end) continue;
    add_row(args.dy.data<T>() + i * width, table + ids[i] * width, width);
  }
}

template <class T>
void add_rows(const EmbeddingBackward& args, ThreadPool& pool) {
  const std::int64_t count = args.dtable.dim(0);
  const std::int64_t rows =
      std::max<std::int64_t>(1, divide_up(count, kMostPanels));
  for_ranges(pool, count, rows, [&](std::int64_t begin, std::int64_t end) {
    add_to_rows<T>(args, begin, end);
  });
}

}  // namespace

void embedding_forward(const EmbeddingForward& args, Stream& stream) {
  check(args);
  if (args.y.is_meta()) return;
  ThreadPool& pool = stream.pool();
  stream.submit([args, &pool] {
    check_ids(args.ids, args.table);
    visit_compute_type(args.table.dtype(),
                       [&]<class T>(T) { copy_rows<T>(args, pool); });
  });
}

void embedding_backward(const EmbeddingBackward& args, Stream& stream) {
  check(args);
  if (args.dy.is_meta()) return;
  ThreadPool& pool = stream.pool();
  stream.submit([args, &pool] {
    visit_compute_type(args.dy.dtype(),
                       [&]<class T>(T) { add_rows<T>(args, pool); });
  });
}

}  // namespace quire::kernels
