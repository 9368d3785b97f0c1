// A matrix turned over while it is widened to fp32, in squares that stay in
// registers: libraries pack a transposed operand element by element.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "quire/kernels/cpu/rows.h"

namespace quire::kernels {

inline constexpr std::int64_t kSquare = 8;
using SquareRow = float __attribute__((vector_size(kSquare * sizeof(float))));
using Square = std::array<SquareRow, kSquare>;

// Interleaving row i with row i + 4 three times turns a square over.
inline void transpose(Square& rows) {
  for (int round = 0; round < 3; ++round) {
    const Square from = rows;
    for (std::size_t i = 0; i < 4; ++i) {
      rows[2 * i] = __builtin_shufflevector(from[i], from[i + 4], 0, 8, 1, 9, 2,
                                            10, 3, 11);
      rows[2 * i + 1] = __builtin_shufflevector(from[i], from[i + 4], 4, 12, 5,
                                                13, 6, 14, 7, 15);
    }
  }
}

inline void widen_row(const float* x, SquareRow& row) {
  std::memcpy(&row, x, sizeof(row));
}
inline void widen_row(const BFloat16* x, SquareRow& row) {
  for (int i = 0; i < kSquare; ++i) row[i] = static_cast<float>(x[i]);
}

template <class T>
void transpose_square(const T* x, std::int64_t x_stride, float* y,
                      std::int64_t y_stride) {
  Square rows;
  for (std::int64_t i = 0; i < kSquare; ++i)
    widen_row(x + i * x_stride, rows[static_cast<std::size_t>(i)]);
  transpose(rows);
  for (std::int64_t i = 0; i < kSquare; ++i)
    std::memcpy(y + i * y_stride, &rows[static_cast<std::size_t>(i)],
                sizeof(SquareRow));
}

// y[columns, rows] = x[rows, columns]^T, y without gaps.
template <class T>
void widen_transposed(BlockShape shape, const T* x, std::int64_t x_stride,
                      float* y) {
  const std::int64_t rows = shape.rows / kSquare * kSquare;
  const std::int64_t columns = shape.columns / kSquare * kSquare;
  for (std::int64_t j = 0; j < columns; j += kSquare) {
    for (std::int64_t i = 0; i < rows; i += kSquare)
      transpose_square(x + i * x_stride + j, x_stride, y + j * shape.rows + i,
                       shape.rows);
  }
  for (std::int64_t j = 0; j < shape.columns; ++j) {
    for (std::int64_t i = j < columns ? rows : 0; i < shape.rows; ++i)
      y[j * shape.rows + i] = static_cast<float>(x[i * x_stride + j]);
  }
}

}  // namespace quire::kernels
