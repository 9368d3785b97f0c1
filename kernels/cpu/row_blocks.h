// Sums over the rows of a matrix, kept apart in blocks of rows and added in
// order, so that their bits do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "quire/core/divide.h"
#include "quire/core/tensor.h"

namespace quire::kernels {

// At least 32 rows each, so that writing the sums costs little, and at most 64
// blocks.
struct RowBlocks {
  explicit RowBlocks(std::int64_t rows)
      : rows_each(std::max<std::int64_t>(32, divide_up(rows, 64))),
        count(divide_up(rows, rows_each)) {}
  std::int64_t rows_each;
  std::int64_t count;
};

// Columns of one panel that adds the sums of the blocks.
inline constexpr std::int64_t kSumColumns = 256;

// y[begin, end) (+)= the blocks' sums in order, of `partial` [blocks, kinds, C]
// those of kind `which`. REQUIRES: end - begin <= kSumColumns.
struct AddBlocks {
  const Tensor& partial;
  std::int64_t which;
  const Tensor& y;
  bool accumulate;

  void operator()(std::int64_t begin, std::int64_t end) const {
    float sums[kSumColumns] = {};
    const std::int64_t width = y.dim(0), kinds = partial.dim(1);
    for (std::int64_t block = 0; block < partial.dim(0); ++block) {
      const float* x =
          partial.data<float>() + (kinds * block + which) * width + begin;
      for (std::int64_t c = 0; c < end - begin; ++c) sums[c] += x[c];
    }
    float* to = y.data<float>() + begin;
    for (std::int64_t c = 0; c < end - begin; ++c)
      to[c] = accumulate ? to[c] + sums[c] : sums[c];
  }
};

}  // namespace quire::kernels
