#include "quire/convert/huggingface/transposed.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace quire::convert {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{1} << 20;
// A system call costs about as much as this many times the bytes of a run.
constexpr std::int64_t kWorthwhile = 8;

// Part of the stored rows, of which the wanted columns lie in `bytes`.
struct Block {
  std::int64_t row, rows;        // stored
  std::int64_t column, columns;  // stored: rows of the matrix
  std::int64_t pitch;            // from row to row of `bytes`, in elements
  const std::byte* bytes;        // of the first column
};

template <class Element>
void scatter(const TransposedMatrix& matrix, const Block& block,
             std::int64_t first, std::span<std::byte> out) {
  const auto end =
      first + static_cast<std::int64_t>(out.size() / sizeof(Element));
  for (std::int64_t c = 0; c < block.columns; ++c) {
    const std::int64_t start = (block.column + c) * matrix.in + block.row;
    const std::int64_t from = std::max(std::int64_t{0}, first - start);
    const std::int64_t to = std::min(block.rows, end - start);
    for (std::int64_t r = from; r < to; ++r)
      std::memcpy(out.data() + (start + r - first) * sizeof(Element),
                  block.bytes + (r * block.pitch + c) * sizeof(Element),
                  sizeof(Element));
  }
}

void place(const TransposedMatrix& matrix, const Block& block,
           std::int64_t first, std::span<std::byte> out) {
  if (matrix.width == 4)
    scatter<std::uint32_t>(matrix, block, first, out);
  else
    scatter<std::uint16_t>(matrix, block, first, out);
}

std::size_t size(std::int64_t bytes) { return static_cast<std::size_t>(bytes); }

}  // namespace

void read_transposed(const TransposedMatrix& matrix, std::int64_t first,
                     std::span<std::byte> out) {
  const std::int64_t end =
      first + static_cast<std::int64_t>(out.size()) / matrix.width;
  const std::int64_t column = first / matrix.in;
  const std::int64_t columns = (end - 1) / matrix.in - column + 1;
  const bool whole = columns * kWorthwhile >= matrix.out;
  const std::int64_t pitch = whole ? matrix.out : columns;
  const std::int64_t most =
      whole ? std::max<std::int64_t>(1, kBlockBytes / (pitch * matrix.width))
            : 1;
  std::vector<std::byte> bytes(size(most * pitch * matrix.width));
  for (std::int64_t row = 0; row < matrix.in; row += most) {
    const std::int64_t rows = std::min(most, matrix.in - row);
    const std::span part(bytes.data(), size(rows * pitch * matrix.width));
    matrix.read(row * matrix.out + (whole ? 0 : column), part);
    place(matrix,
          {.row = row,
           .rows = rows,
           .column = column,
           .columns = columns,
           .pitch = pitch,
           .bytes = part.data() + (whole ? column * matrix.width : 0)},
          first, out);
  }
}

void transpose(const Transposition& shape, std::span<const std::byte> from,
               std::span<std::byte> to) {
  const TransposedMatrix matrix{
      .in = shape.rows, .out = shape.columns, .width = shape.width, .read = {}};
  const std::int64_t first = shape.first * shape.rows;
  place(matrix,
        {.row = 0,
         .rows = shape.rows,
         .column = shape.first,
         .columns = shape.count,
         .pitch = shape.columns,
         .bytes = from.data() + shape.first * shape.width},
        first, to);
}

}  // namespace quire::convert
