// Ranges of a matrix that is stored as its transpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace quire::convert {

// A matrix [out, in], stored as [in, out] of elements of `width` bytes.
struct TransposedMatrix {
  std::int64_t in, out;
  std::int64_t width;  // 2 or 4
  // bytes = stored elements from `first` on.
  std::function<void(std::int64_t first, std::span<std::byte> bytes)> read;
};

// out = elements of the matrix from `first` on. Reads runs of rows where most
// of each is wanted, else the wanted part of every row; holds 1 MiB or one
// stored row.
void read_transposed(const TransposedMatrix& matrix, std::int64_t first,
                     std::span<std::byte> out);

// to [columns, rows] = from [rows, columns], of elements of `width` bytes; rows
// [first, first + count) of `to` only.
struct Transposition {
  std::int64_t rows, columns, width;
  std::int64_t first, count;
};
void transpose(const Transposition& shape, std::span<const std::byte> from,
               std::span<std::byte> to);

}  // namespace quire::convert
